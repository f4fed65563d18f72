"""Streams that are missing, that cannot be read or written, or that have no UTF-8."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, WARM, environment, status_of
from terminals import plain, shown

from structkit import registry

CLOSED = b"structkit: stdin: is closed; name a file, or write to it\n"
PARTS = Path(__file__).with_name("pipe_files.txt").read_text("utf-8").split("=== ")[1:]
FILES = dict(part.split("\n", 1) for part in PARTS)
# of files that it does not have; a file that is one of many
OTHERS = [
    "model",
    "encoded",
    "trees.ptb",
    "rows.tsv",
    "notes",
    "--records",
]  # other files; a fault of many
LINES = [
    line
    for line in Path(__file__).with_name("pipes.txt").read_text("utf-8").splitlines()
    if not any(name in line for name in OTHERS)
]


def from_stdin(line):
    """The words of a line, with stdin instead of its first input."""
    words = line.split()
    first = next(place for place, word in enumerate(words) if word in FILES)
    return [*words[:first], "-", *words[first + 1 :]]


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)


READING = [*map(from_stdin, LINES), ["ask", ".", "-"], ["collect", "-"], ["mcp", "."]]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_command_says_that_stdin_cannot_be_read(words, files, capfdbinary):
    before, unreadable = os.dup(0), os.open(os.devnull, os.O_WRONLY)
    os.dup2(unreadable, 0)
    try:
        status = status_of(*words)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(unreadable)
    assert (1, CLOSED) == (status, capfdbinary.readouterr().err)


def completed(script, folder, **variables):
    """What comes of a script of a shell, in which "$@" is the program."""
    return subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        timeout=120,
    )


@pytest.mark.parametrize("command", ["select", "ask . -", "collect -", "mcp ."])
def test_a_closed_stdin_is_one_that_cannot_be_read(command, tmp_path):
    done = completed(f'"$@" {command} <&-', tmp_path)
    assert (1, b"", CLOSED) == (done.returncode, done.stdout, done.stderr)


def test_messages_that_cannot_be_written_change_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("Tea is hot.\n")
    told, full = (
        [
            completed(f'"$@" ask . {word} --no-cache {to}', tmp_path)
            for word in ("tea", "milk --no-model")
        ]
        for to in ("", "2>/dev/full")
    )
    assert told[0].stderr and told[0].stdout
    for one, other in zip(told, full, strict=True):
        assert (one.returncode, one.stdout) == (other.returncode, other.stdout)
    assert [0, 1] == [done.returncode for done in full]


@pytest.mark.parametrize(
    "words", ["ask . tea --no-cache -q", "mask-entities a.jsonl --workers 2", "collect ."]
)
def test_a_parent_that_ignores_the_end_of_children_changes_nothing(words, tmp_path):
    code = '{"id":"%d","language":"python","code":"def tea(a):\\n  return a"}\n'
    (tmp_path / "a.jsonl").write_text("".join(code % number for number in range(3)))

    def done(**options):
        command = [*PROGRAM, *words.split()]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, **options
        )

    other = done(preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert (0, b"") == (other.returncode, other.stderr)
    assert done().stdout == other.stdout != b""


HOSTILE = "tea\x1b[31m\x9b31m\x7f\u202e\x07\u200f"
IDS = {"query_id": HOSTILE, "doc_id": f"d{HOSTILE}"}
RECORDS = {
    "run": {**IDS, "score": 1.0, "rank": 1, "query": HOSTILE, HOSTILE: "value", "text": "tea"},
    "records": {"id": HOSTILE, HOSTILE: HOSTILE, "others": [{HOSTILE: 1}], "text": HOSTILE},
    "queries": {"id": HOSTILE, "query": HOSTILE, "text": "tea"},
    "corpus": {"id": f"d{HOSTILE}", "title": HOSTILE, "text": f"tea {HOSTILE}", "path": HOSTILE},
    "qrels": {**IDS, "relevance": 1},
    "code": {"id": HOSTILE, "language": "python", "code": f"def tea(a):\n  return a # {HOSTILE}"},
    "page": {"id": HOSTILE, "html": f"<h1>Tea</h1><p>{HOSTILE}", "query": HOSTILE},
    "pairs": {"query": HOSTILE, "positive": HOSTILE, "negatives": [HOSTILE]},
    "tree": {"id": HOSTILE, "tree": f"(X (X a b) {HOSTILE})"},
    "product": {"id": HOSTILE, "title": HOSTILE, "description": f"tea {HOSTILE}", "bullets": "a"},
}
RERANK = "rerank run.jsonl --corpus corpus.jsonl --queries queries.jsonl --ranker path-words"
TO_TERMINAL = [
    "select run.jsonl",
    "select records.jsonl",
    "score --qrels qrels.jsonl run.jsonl --per-query",
    "score --qrels qrels.jsonl run.jsonl --per-query --markdown",
    "fuse run.jsonl",
    "fuse run.jsonl --format trec",
    RERANK,
    f"{RERANK} --format trec",
    "search corpus.jsonl --method bm25 --queries queries.jsonl",
    "search corpus.jsonl --method bm25 --queries queries.jsonl --format trec",
    "search corpus.jsonl --method bm25 --query tea",
    "mask-entities code.jsonl",
    "html-variants page.jsonl",
    "parse-trees corpus.jsonl --parser balanced",
    "pair page.jsonl --query query --positive html",
    "encode corpus.jsonl -m builtin",
    "collect --records records.jsonl --unit file",
    "collect .",
    "ask . tea --no-cache",
    "ask . tea --no-cache -l",
    "plugins",
    "mask-entities records.jsonl --on-error skip",
    "mask-entities records.jsonl",
    "score --qrels records.jsonl run.jsonl",
]


@pytest.fixture
def hostile(tmp_path):
    for name, record in RECORDS.items():
        line = json.dumps(record, ensure_ascii=False)
        (tmp_path / f"{name}.jsonl").write_text(f"{line}\n")
    (tmp_path / f"{HOSTILE}.md").write_text(f"# Tea\n\nTea {HOSTILE}\n")
    return tmp_path


def obeyed(text):
    """What a terminal would obey of a text, but for our styles and progress lines."""
    text = re.sub(r"\r|\x1b\[[\d;]*[AK]", "", plain(text))
    return [each for each in text if not each.isprintable() and each not in "\n\t"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("words", TO_TERMINAL)
def test_no_command_lets_data_control_a_terminal(words, stream, hostile):
    text = shown(hostile, [*WARM, *words.split()], stream=stream, status=None)
    assert "\x1b[31m" not in text and not obeyed(text), text


@pytest.mark.parametrize("format", registry.names("format"))
def test_no_format_lets_data_control_a_terminal(format, hostile):
    seen = ""
    for name in RECORDS:
        command = [*WARM, "convert", "--to", format, f"{name}.jsonl", "--on-error", "skip"]
        seen += shown(hostile, command, status=None)
    assert "\x1b[31m" not in seen and not obeyed(seen), seen
