"""Every setting beyond both its ends, not a number, empty: wrong usage before any work."""

import sys
from dataclasses import MISSING, fields
from typing import get_args

import pytest
from soak.sessions import commands, found

from structkit.cli.main import main
from structkit.errors import flag as named
from structkit.settings import alternatives, bounds, choices_of, is_several, types_of


def flags(words):
    """The settings of a command that are flags: name, flag, class and field of each."""
    command = found(words)
    spelled = {each.name: max(each.opts, key=len) for each in command.params}
    return [
        (spelled[each.name], kind, each)
        for kind in command.settings
        for each in fields(kind)
        if spelled.get(each.name, "").startswith("--")
    ]


def wrong_values(kind, each):
    """Values that a setting must refuse."""
    hint = alternatives(types_of(kind)[each.name])[0]
    hint = get_args(hint)[0] if is_several(hint) else hint
    low, high = bounds(kind, each.name)
    if hint in (int, float):
        yield from ("nan", "inf", "-inf", "1e400", "x", "", "0x10", "9" * 5000)
        if hint is int or high is not None:
            yield "1" + "0" * 30
        yield from [] if low is None else [str(hint(low - 1))]
        yield from [] if high is None else [str(hint(high + 1))]
    elif choices_of(kind, each):
        yield from ("", "nope")
    elif hint is str and "" not in (each.default, each.metadata.get("usual")):
        yield ""


def cases():
    """Each setting once, in the first command that has it."""
    seen = set()
    for words in commands():
        for flag, kind, each in flags(words):
            declared = [
                one for one in kind.__mro__ if each.name in vars(one).get("__annotations__", {})
            ]
            if types_of(kind)[each.name] is not bool and (declared[0], each.name) not in seen:
                seen.add((declared[0], each.name))
                yield pytest.param(words, flag, kind, each, id=f"{' '.join(words)} {flag}")


def status():
    """The exit status of the program, run here."""
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(("words", "flag", "kind", "each"), list(cases()))
def test_a_wrong_value_is_wrong_usage_before_any_work(
    words, flag, kind, each, monkeypatch, tmp_path, capfd
):
    monkeypatch.chdir(tmp_path)
    needed = [name for name, _, one in flags(words) if one.default is MISSING and name != flag]
    files = [] if words[0] in ("doctor", "plugins") else ["no.npy"]
    for value in wrong_values(kind, each):
        arguments = [*words, *(f"{name}=no.npy" for name in needed), f"{flag}={value}", *files]
        monkeypatch.setattr(sys, "argv", ["structkit", *arguments])
        assert 2 == status(), arguments
        told = capfd.readouterr()
        assert "" == told.out
        beginnings = f"structkit: {named(each.name)} ", f"structkit: no {named(each.name)} "
        assert told.err.startswith(beginnings), told.err
        assert 1 == told.err.count("\n")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["encode", "-m", "m", "--length", "0"], "--length 0 is not 1 or more"),
        (["pair", "--split", "a:nan"], "--split a:nan is not NAME:SHARE"),
        (["score", "--qrels", "self", "--measures", "nDCG@0", "no"], "no measure 'nDCG@0'"),
        (["score", "--qrels", "self", "--measures", "nDCG@-1", "no"], "no measure 'nDCG@-1'"),
        (["score", "--qrels", "self", "--measures", " ", "no"], "--measures names none"),
        (["score", "--qrels", "q", "--gains", "E=nan", "no"], "'E=nan' is not LABEL=VALUE"),
        (
            ["search", "no.jsonl", "--index", "ivf", "--parameters", "nprobe=0"],
            "'nprobe=0' is not NAME=NUMBER",
        ),
        (["fuse", "no", "--weight", "1", "--weight", "1"], "2 weights for 1 runs"),
        (["convert", "--from", "mteb", "no.json"], "there is no part of mteb that structkit can"),
    ],
)
def test_values_that_are_no_numbers_alone(monkeypatch, capfd, arguments, told):
    monkeypatch.setattr(sys, "argv", ["structkit", *arguments])
    assert 2 == status()
    found = capfd.readouterr()
    assert told in found.err
    assert 1 == found.err.count("\n")
