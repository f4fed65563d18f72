"""What can be read once is read once: a pipe gives what a file gives, in every command."""

import os
import signal
import subprocess
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from conftest import status_of
from hostile.good import zipped
from soak.verdicts import state

LIMIT = 60  # seconds after which a pipe is thought to be opened a second time
SERVE = 'exec cat "$0" > "$1"'  # once, to whoever reads first
PARTS = Path(__file__).with_name("pipe_files.txt").read_text("utf-8").split("=== ")[1:]
FILES = dict(part.split("\n", 1) for part in PARTS)
RANKED = "--corpus texts.jsonl --queries queries.jsonl --ranker path-words --ranker definitions"
# every input of every line is a pipe once
LINES = Path(__file__).with_name("pipes.txt").read_text("utf-8").splitlines()


def program(line, folder):
    """The exit status of the program, run here in a folder."""
    with chdir(folder):
        return status_of(*line.split())


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """What the lines read."""
    folder = tmp_path_factory.mktemp("store")
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (folder / "trees.ptb").write_text("(X (X a b) c)\n(X a (X b c))\n")
    (folder / "rows.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "notes.txt").write_text("Green tea is hot.\n")
    assert 0 == program("train static texts.jsonl -o model --dimensions 4 -q", folder)
    assert 0 == program("encode texts.jsonl -m model -o encoded.jsonl -q", folder)
    (folder / "notes.zip").write_bytes(zipped({"notes.txt": b"Green tea is hot.\n"}))
    np.save(folder / "rows.npy", np.eye(2, dtype=np.float32))
    (folder / "rows.ids.txt").write_text("a\nb\n")
    for name in ("rows.parquet", "notes.tar", "runs"):
        (folder / name).write_bytes(b"PAR1")
    late = [b"", b"{", b'{"tree": 1}', b'{"tree": "(X a b)"}', b"["]
    (folder / "late.jsonl").write_bytes(b"\n".join(late) + b"\n")
    return folder


def made(line, store, folder, capfdbinary, pipe=""):
    """What the program leaves: its status, what it says, and its files; an input is a pipe."""
    folder.mkdir()
    for path in store.iterdir():
        if path.name in line.split() or path.name == "model" or path.name.endswith(".ids.txt"):
            (folder / path.name).symlink_to(path)
    capfdbinary.readouterr()
    if not pipe:
        status = program(line, folder)
    else:
        (folder / pipe).unlink()
        os.mkfifo(folder / pipe)
        before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"{pipe} is opened again"))
        with subprocess.Popen(["sh", "-c", SERVE, str(store / pipe), str(folder / pipe)]) as served:
            signal.alarm(LIMIT)
            try:
                status = program(line, folder)
            finally:
                signal.alarm(0)
                served.kill()
        signal.signal(signal.SIGALRM, before)
        (folder / pipe).unlink()
    told = capfdbinary.readouterr()
    left = {name: each for name, each in state(folder).items() if name.startswith("out")}
    return status, b"" if line.startswith("train") else told.out, told.err, left


def inputs(line):
    words = line.split()
    known = {*FILES, "trees.ptb", "rows.tsv", "notes.txt", "encoded.jsonl"}
    return [word for word in words if word in known]


@pytest.mark.parametrize("line", LINES)
def test_a_pipe_is_read_once(line, store, tmp_path, capfdbinary):
    expected = made(line, store, tmp_path / "file", capfdbinary)
    assert 0 == expected[0], expected[2]
    for pipe in inputs(line):
        assert expected == made(line, store, tmp_path / f"of-{pipe}", capfdbinary, pipe)


# the file that is read in any order, and a line that reads it
JUMPED = {
    "rows.npy": "search rows.npy --queries asked.jsonl",
    "rows.parquet": "search rows.parquet --queries asked.jsonl",
    "notes.zip": "collect notes.zip",
    "notes.tar": "ask notes.tar tea --no-cache",
}
JUMPS = [
    *JUMPED.items(),
    ("rows.npy", "search vectors.jsonl --queries rows.npy"),
    ("rows.npy", "encode texts.jsonl -m model --reuse rows.npy -o out.npy"),
    ("rows.npy", "plot embeddings rows.npy -o out.svg"),
]


@pytest.mark.parametrize(("pipe", "line"), JUMPS)
def test_what_is_read_in_any_order_is_no_pipe(line, pipe, store, tmp_path, capfdbinary):
    status, out, told, left = made(line, store, tmp_path / "pipe", capfdbinary, pipe)
    assert (2, b"", {}) == (status, out, left)
    assert f"{pipe}: is a pipe, and a" in told.decode()
    assert told.endswith(b"is read in any order; write it to a file, and name that\n")


TWICE = [
    ("texts.jsonl", "pair texts.jsonl --negatives-from run.jsonl --corpus texts.jsonl"),
    ("texts.jsonl", f"rerank run.jsonl {RANKED} --queries texts.jsonl"),
    ("trees.jsonl", "score --task trees trees.jsonl --gold trees.jsonl"),
]


@pytest.mark.parametrize(("pipe", "line"), TWICE)
def test_a_pipe_that_is_named_twice_is_wrong_usage(line, pipe, store, tmp_path, capfdbinary):
    told = f"structkit: {pipe} is read twice; give a file for one of them\n".encode()
    assert (2, b"", told, {}) == made(line, store, tmp_path / "pipe", capfdbinary, pipe)


def test_stdin_under_another_name_is_the_same_pipe(run):
    done = run("score", "--qrels", "/dev/stdin", "-", input=b"x")
    told = b"structkit: /dev/stdin is read twice; give a file for one of them\n"
    assert (2, told) == (done.returncode, done.stderr)


def test_lines_of_a_pipe_come_whole_wherever_the_first_good_one_is(store, tmp_path, capfdbinary):
    """Bad and blank lines before the record that decides the part keep their places."""
    line = "convert --to ptb late.jsonl --on-error skip --rejects out.rejects -o out.ptb"
    expected = made(line, store, tmp_path / "file", capfdbinary)
    assert (0, {"out.ptb", "out.rejects"}) == (expected[0], set(expected[3]))
    assert expected == made(line, store, tmp_path / "pipe", capfdbinary, "late.jsonl")
    assert b"(X a b)\n" == (tmp_path / "pipe" / "out.ptb").read_bytes()
