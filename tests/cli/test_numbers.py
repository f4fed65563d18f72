"""Every number and text of every flag: beyond both ends, NaN, infinite, empty, no number."""

import re
import sys
from typing import get_args

import pytest
from typer import Context

from structkit.cli.app import app
from structkit.cli.main import main

NUMBER = re.compile("<(int|float)>")  # how a setting's flag says what it takes
MODULE = "train"  # its flags are made of settings, which check themselves


def commands():
    """The commands by their words, those of `plot` too."""
    context = Context(app)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        if name == "plot":
            yield from (
                ((name, each), command.get_command(context, each))
                for each in command.list_commands(context)
            )
        elif name != MODULE:
            yield (name,), command


def wrong_values(option):
    """Values that a flag of numbers, or of text, must refuse."""
    kind = option.type_descriptor.annotation
    kind = (get_args(kind) or (kind,))[0]
    if kind is str and (number := NUMBER.match(option.metavar or "")):
        yield from ("nan", "inf", "x", "", "9" * 5000, *(["1" + "0" * 30] if number else []))
    if kind in (int, float):
        yield from ("nan", "inf", "-inf", "1e400", "x", "", "0x10", "9" * 5000)
        if option.min is not None:
            yield str(option.min - 1)
        if option.max is not None:
            yield from (str(option.max + 1), "1" + "0" * 30)
    elif kind is str:
        yield ""


def cases():
    for words, command in commands():
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag:
                yield pytest.param(words, option, id=f"{' '.join(words)} {option.opts[0]}")


def status():
    """The exit status of the program, run here."""
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(("words", "option"), list(cases()))
def test_a_wrong_value_is_wrong_usage_before_any_work(words, option, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    needed = {"encode": ["-m", "m"], "plot": ["-o", "p.svg"], "merge-embeddings": ["-o", "m.npy"]}
    needed["rerank"] = ["--corpus", "c", "--queries", "q"]
    others = [*needed.get(words[0], []), *(["--qrels", "self"] if words[-1] == "ranks" else [])]
    files = [] if words[0] in ("doctor", "plugins") else ["no.jsonl"]
    for value in wrong_values(option):
        arguments = [*words, *others, f"{option.opts[0]}={value}", *files]
        monkeypatch.setattr(sys, "argv", ["structkit", *arguments])
        assert 2 == status(), arguments
        told = capfd.readouterr()
        assert "" == told.out
        beginnings = "structkit: Invalid value for '", f"structkit: {option.opts[0]} "
        assert told.err.startswith(beginnings), told.err
        assert 1 == told.err.count("\n")
        assert option.opts[0].lstrip("-") in told.err.replace("'-", "").replace("/ '-", "")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["encode", "-m", "m", "--length", "0"], "--length 0 is not 1 or more"),
        (["pair", "--split", "a:nan"], "--split 'a:nan' is not NAME:SHARE"),
        (["score", "--qrels", "self", "--measures", "nDCG@0", "no"], "no measure 'nDCG@0'"),
        (["score", "--qrels", "self", "--measures", "nDCG@-1", "no"], "no measure 'nDCG@-1'"),
        (["score", "--qrels", "self", "--measures", " ", "no"], "--measures names none"),
        (["score", "--qrels", "q", "--gains", "E=nan", "no"], "'E=nan' is not LABEL=VALUE"),
        (["search", "no.jsonl", "--index", "ivf", "--parameters", "nprobe=0"], "nprobe is 0"),
        (["fuse", "no", "--weight", "1", "--weight", "1"], "2 weights for 1 runs"),
        (["convert", "--from", "mteb", "no.json"], "mteb can only be written"),
        (["convert", "--from", "mteb", "--part", "scores", "no.json"], "mteb can only be written"),
    ],
)
def test_values_that_are_no_numbers_alone(monkeypatch, capfd, arguments, told):
    monkeypatch.setattr(sys, "argv", ["structkit", *arguments])
    assert 2 == status()
    found = capfd.readouterr()
    assert told in found.err
    assert 1 == found.err.count("\n")
