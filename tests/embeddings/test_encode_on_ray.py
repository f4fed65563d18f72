"""encode --ray: windows that other processes embed give the files of one process."""

import signal
import sys
from collections import Counter
from importlib.util import find_spec

import orjson
import pytest
from conftest import completed, environment, status_of

from structkit.commands.encode import encode_to_file
from structkit.embeddings.writing import VectorFiles
from structkit.learning.encoding import reading
from structkit.learning.encoding.on_ray import Remote, spread_over
from structkit.learning.training.tokens import Truncation
from tests.jsonl import contents
from tests.model_encodings import encoding_of, records

ENCODE = ["encode", "-m", "none", "--field", "a", "--ray", "local"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([*ENCODE, "--reuse", "o.npy"], "--ray and --reuse exclude each other"),
        ([*ENCODE, "--field", "b"], "--ray takes one --field"),
        ([*ENCODE[:-1], "node-7"], "--ray node-7 is no address; give local"),
    ],
)
def test_wrong_usage_is_refused_before_any_work(words, problem, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert 2 == status_of(*words)
    assert problem in capsys.readouterr().err


def test_what_others_counted_is_added():
    ours, theirs = Truncation(), Truncation()
    ours.count("document", 3, 1)
    theirs.count("document", 2, 2)
    counted = theirs.drain()
    assert not theirs.texts and not theirs.truncated
    ours.merge(counted)
    assert (Counter(document=5), Counter(document=3)) == (ours.texts, ours.truncated)


def test_a_process_that_makes_its_own_encoding_embeds_the_same(model):
    encoding = encoding_of(model, "document", chunk=4, keep=["n"])
    [window] = reading.windows(map(encoding.read, records(n=1)))
    rows, vectors = encoding.window(window)
    remote = Remote.of(encoding)
    for _ in range(2):  # counts are of one window
        (remote_rows, remote_vectors), counts = remote(window)
        assert rows == remote_rows and (vectors == remote_vectors).all()
        assert dict(encoding.truncation.texts) == dict(counts["texts"])


def test_one_window_needs_no_ray(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    encoding = encoding_of(model, "document")
    encoding.spread = spread_over("local", encoding)
    assert 60 == sum(len(rows) for rows, _ in encoding.embedded(records()))


# small windows; and a run that is killed when that many are written
SMALL = """
import os, signal, sys
from structkit.cli import main
from structkit.embeddings.writing import VectorFiles
from structkit.learning.encoding import reading

def noted(files, state, note=VectorFiles.checkpoint):
    note(files, state)
    if files.count == int(os.environ.get("LAST", 0)):
        os.kill(os.getpid(), signal.SIGKILL)

reading.WINDOW = 7
VectorFiles.checkpoint = noted
main()
"""
LINES = [orjson.dumps(record) + b"\n" for record in records(n=1)]
BAD = [*LINES[:33], b'{"id": "bad"}\n', *LINES[33:]]
with_ray = pytest.mark.skipif(not find_spec("ray"), reason="the extra ray is not installed")


def made(folder, *words, **env):
    """Status, stdout, stderr, and the files that it leaves."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", SMALL, *words]
    variables = environment(OMP_NUM_THREADS="1", **env)
    done = completed(command, cwd=folder, env=variables, timeout=300)
    return done.returncode, done.stdout, done.stderr, contents(folder)


def encoded(model, file, *flags):
    """The words of an `encode` of that file."""
    words = ["encode", file, "-m", model, "--length", "9", "-o", "v.npy", *flags]
    return [*words, "--on-error", "skip", "--rejects", "rejects.jsonl"]


@pytest.fixture(scope="module")
def alone(model, tmp_path_factory):
    """A file with a bad record, and what one process makes of it."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "in.jsonl").write_bytes(b"".join(BAD))
    done = made(folder / "out", *encoded(model, "../in.jsonl"))
    assert 0 == done[0] and b"of 60 document texts were longer" in done[2]
    return folder, done


@pytest.mark.long
@with_ray
def test_the_files_are_those_of_one_process(model, alone):
    folder, expected = alone
    assert expected == made(folder / "ray", *encoded(model, "../in.jsonl", "--ray", "local"))


@pytest.mark.long
@with_ray
def test_what_a_killed_run_goes_on_with_is_the_file_of_one_process(model, alone):
    folder, expected = alone
    words = encoded(model, "../in.jsonl", "--ray", "local", "--resume")
    status, _, told, files = made(folder / "killed", *words, LAST="28")
    assert (-signal.SIGKILL, b"") == (status, told) and "v.npy" not in files
    status, out, told, files = made(folder / "killed", *words)
    assert told.startswith(b"structkit: continuing after 28 records\n")
    assert expected == (status, out, told.partition(b"\n")[2], files)


def test_a_checkpoint_counts_the_records_of_its_rows(model, tmp_path, monkeypatch):
    """Where windows are read ahead, a run that is resumed would otherwise leave some out."""
    monkeypatch.setattr(reading, "WINDOW", 7)
    states = []
    monkeypatch.setattr(
        VectorFiles, "checkpoint", lambda files, state: states.append((files.count, state))
    )
    encoding = encoding_of(model, "document")
    encoding.spread = lambda several: encoding.embed_here(iter(list(several)))
    encode_to_file(map(encoding.read, records()), str(tmp_path / "v.npy"), encoding)
    assert [*range(7, 60, 7), 60] == [count for count, _ in states]
    assert [count for count, _ in states] == [state["records"] for _, state in states]
