"""Completions for the tab key, by the variables that the scripts of shells set."""

import shlex
import shutil
import sys

import pytest
from conftest import PROGRAM
from imported import imported
from terminals import typed_in

from structkit import registry
from structkit.cli.main import _run
from structkit.command import COMMANDS

PLUGINS = {
    "train ": "method",
    "parse-trees --parser ": "parser",
    "mask-entities --language ": "language",
    "rerank --ranker ": "ranker",
    "convert --from ": "format",
    "convert --to ": "format",
    "search x --backend ": "backend",
}


def variables(shell, line):
    """What the script of a shell sets before it calls the program."""
    words = shlex.split(line)
    if shell == "bash":
        number = len(words) - (not line.endswith(" "))
        return {"COMP_WORDS": line, "COMP_CWORD": str(number)}
    return {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}


@pytest.fixture
def completed(monkeypatch, capsys):
    """The words that complete a line, as bash and fish get them."""

    def completed(line, shell="bash"):
        line = f"structkit {line}"
        for name, value in variables(shell, line).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("_STRUCTKIT_COMPLETE", f"complete_{shell}")
        monkeypatch.setattr(sys, "argv", ["structkit"])
        assert 0 == _run()
        told = capsys.readouterr()
        assert "" == told.err
        return told.out.splitlines() if told.out.strip() else []

    return completed


@pytest.mark.parametrize("line", PLUGINS)
def test_plugins_complete(line, completed):
    names = registry.names(PLUGINS[line])
    assert names == sorted(completed(line))
    last = names[-1]
    assert [last] == completed(line + last)


def test_commands_flags_and_choices_complete(completed):
    assert [*COMMANDS] == completed("")
    assert ["search", "select"] == completed("se")
    assert ["embeddings"] == completed("plot em")
    assert ["--temperature"] == completed("train santa --temp")
    assert ["dense", "bm25", "hybrid"] == completed("search x --method ")
    assert ["bert"] == completed("train seal --architecture b")


@pytest.mark.parametrize("line", ["nope ", "train nope ", "plot nope "])
def test_a_wrong_word_before_is_not_told(line, completed):
    completed(line)


@pytest.mark.parametrize("line", ["", "train ", "parse-trees --parser ", "train santa --"])
@pytest.mark.parametrize("columns", [60, 80])
def test_a_word_has_one_line_and_its_summary(line, columns, completed, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    words = completed(line, "fish")
    assert all(word.count("\t") == 1 and "\\" not in word for word in words)
    bash = completed(line)
    assert sorted(bash) == sorted(word.partition("\t")[0] for word in words)
    assert [] != completed(line, "zsh")


@pytest.mark.parametrize("line", ["", "train ", "train seal --", "parse-trees --parser "])
def test_completion_is_light(line):
    heavy, told = imported(
        _STRUCTKIT_COMPLETE="complete_bash", **variables("bash", f"structkit {line}")
    )
    assert heavy <= {"numpy"} and told


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_offered(shell, run):
    done = run(
        "--show-completion", shell, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    )
    assert (0, b"") == (done.returncode, done.stderr)
    assert f"_STRUCTKIT_COMPLETE=complete_{shell}".encode() in done.stdout


EVAL = 'eval "$(structkit --show-completion {})"'
SHELLS = {  # how it starts without the user's files, and learns the script
    "bash": (["--norc", "--noprofile", "-i"], EVAL),
    "zsh": (["-f", "-i"], f"autoload -Uz compinit; compinit -D -u; {EVAL}"),
    "fish": (["--no-config", "-i"], "structkit --show-completion {} | source"),
}


@pytest.mark.long
@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_in_a_shell(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "structkit"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    flags, learn = SHELLS[shell]
    typed = [learn.format(shell), "structkit sel\t--help", "structkit train fastt\t--help", "exit"]
    seen = typed_in(tmp_path, [shell, *flags], typed)
    assert "structkit select [OPTIONS]" in seen, seen
    assert "structkit train fasttext [OPTIONS]" in seen, seen
