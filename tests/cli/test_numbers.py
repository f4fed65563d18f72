"""Every setting beyond both its ends, not a number, empty: wrong usage before any work."""

import pytest
from conftest import status_of
from soak.sessions import found, known

from structkit.errors import flag as named
from structkit.settings import settings_of


def flags(words):
    """The settings of a command that are flags: name, flag, class and field of each."""
    command = found(words)
    spelled = {each.name: max(each.opts, key=len) for each in command.params}
    return [
        (spelled[each.name], kind, each)
        for kind in command.settings
        for each in settings_of(kind)
        if spelled.get(each.name, "").startswith("--")
    ]


def wrong_values(each, first):
    """Values that a setting must refuse; the first of its kind, whatever is not a number."""
    hint, low, high = each.item_types[0], each.low, each.high
    if hint in (int, float):
        yield from ("nan", "x")
        if first:
            yield from ("inf", "-inf", "1e400", "", "0x10", "9" * 5000)
        if hint is int or high is not None:
            yield "1" + "0" * 30
        yield from [] if low is None else [str(hint(low - 1))]
        yield from [] if high is None else [str(hint(high + 1))]
    elif each.choices:
        yield from ("", "nope")
    elif hint is str and "" not in (each.default, each.usual):
        yield ""


def cases():
    """Each setting once, in the first command that has it."""
    seen, kinds = set(), set()
    for words in known():
        for flag, kind, each in flags(words):
            declared = [
                one for one in kind.__mro__ if each.name in vars(one).get("__annotations__", {})
            ]
            if each.hint is not bool and (declared[0], each.name) not in seen:
                seen.add((declared[0], each.name))
                own = (each.hint, each.low is None, each.high is None)
                values = [*wrong_values(each, own not in kinds)]
                kinds.add(own)
                yield pytest.param(words, flag, each, values, id=f"{' '.join(words)} {flag}")


@pytest.mark.parametrize(("words", "flag", "each", "values"), list(cases()))
def test_a_wrong_value_is_wrong_usage_before_any_work(
    words, flag, each, values, monkeypatch, tmp_path, capfd
):
    monkeypatch.chdir(tmp_path)
    needed = [name for name, _, one in flags(words) if one.required and name != flag]
    files = [] if words[0] == "plugins" else ["no.npy"]
    for value in values:
        arguments = [*words, *(f"{name}=no.npy" for name in needed), f"{flag}={value}", *files]
        assert 2 == status_of(*arguments), arguments
        told = capfd.readouterr()
        assert "" == told.out
        beginnings = f"structkit: {named(each.name)} ", f"structkit: unknown {named(each.name)} "
        assert told.err.startswith(beginnings), told.err
        assert 1 == told.err.count("\n")
        assert not list(tmp_path.iterdir())
