"""Every setting beyond both its ends, not a number, empty: wrong usage before any work."""

import sys

import pytest
from soak.sessions import commands
from soak.spoilers.flags import flags

from structkit.cli.main import main
from structkit.errors import flag as named


def wrong_values(flag):
    """Values that a flag must refuse."""
    if flag.kind in (int, float):
        yield from ("nan", "inf", "-inf", "1e400", "x", "", "0x10", "9" * 5000)
        if flag.kind is int or flag.high < float("inf"):
            yield "1" + "0" * 30
        ends = {flag.low - 1, flag.high + 1} - {float("-inf"), float("inf")}
        yield from map(str, map(int if flag.kind is int else float, ends))
    elif flag.choices:
        yield from ("", "nope")
    elif flag.kind is str and not flag.empty:
        yield ""


def cases():
    """Each setting once, in the first command that has it."""
    seen = set()
    for words in commands():
        for flag in flags(words):
            if flag.kind is not bool and (flag.declared, flag.name) not in seen:
                seen.add((flag.declared, flag.name))
                yield pytest.param(words, flag, id=f"{' '.join(words)} {flag.flag}")


def status():
    """The exit status of the program, run here."""
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(("words", "flag"), list(cases()))
def test_a_wrong_value_is_wrong_usage_before_any_work(words, flag, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    needed = {each.flag: "no.npy" for each in flags(words) if each.required and each != flag}
    files = [] if words[0] in ("doctor", "plugins") else ["no.npy"]
    for value in wrong_values(flag):
        others = [word for each in needed.items() for word in each]
        arguments = [*words, *others, f"{flag.flag}={value}", *files]
        monkeypatch.setattr(sys, "argv", ["structkit", *arguments])
        assert 2 == status(), arguments
        told = capfd.readouterr()
        assert "" == told.out
        beginnings = f"structkit: {named(flag.name)} ", f"structkit: no {named(flag.name)} "
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
