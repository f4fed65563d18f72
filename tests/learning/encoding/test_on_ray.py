"""encode --ray: windows that other processes embed give the files of one process."""

import re
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec

import orjson
import pytest
from conftest import PROGRAM, completed, environment, status_of

from structkit.commands.encode import encode_to_file
from structkit.embeddings.reading import read_embeddings
from structkit.learning.encoding import reading
from structkit.learning.encoding.on_ray import Remote, spread_over
from structkit.learning.tokens import Truncation
from tests.jsonl import contents
from tests.model_encodings import TEXTS, encode_file, encoding_of, records

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
    [window] = reading.windows(map(encoding.read, records(n=1)), reading.WINDOW)
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


LINES = [orjson.dumps(record) + b"\n" for record in records(TEXTS * 100, n=1)]  # three windows
BAD = [*LINES[:33], b'{"id": "bad"}\n', *LINES[33:]]
with_ray = pytest.mark.skipif(not find_spec("ray"), reason="the extra ray is not installed")


def made(folder, *words):
    """Status, stdout, stderr, and the files that it leaves."""
    folder.mkdir(exist_ok=True)
    variables = environment(OMP_NUM_THREADS="1")
    done = completed([*PROGRAM, *words], cwd=folder, env=variables, timeout=300)
    return done.returncode, done.stdout, done.stderr, contents(folder)


def killed(folder, *words):
    """A run that is killed when it has written a window: what it printed."""
    folder.mkdir()
    program = [*PROGRAM, *words]
    process = subprocess.Popen(program, cwd=folder, env=environment(), stdout=subprocess.PIPE)
    while process.poll() is None and not (folder / ".v.npy.resume").exists():
        time.sleep(0.01)
    process.kill()
    return process.communicate()[0]


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
    assert 0 == done[0] and b"document texts were longer" in done[2]
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
    assert b"" == killed(folder / "killed", *words) and not (folder / "killed/v.npy").exists()
    status, out, told, files = made(folder / "killed", *words)
    assert re.match(rb"structkit: continuing after \d,\d+ records\n", told)
    assert expected == (status, out, told.partition(b"\n")[2], files)


def test_a_checkpoint_counts_the_records_of_its_rows(model, tmp_path, capsys):
    """Where windows are read ahead, a run that is resumed would otherwise leave some out."""

    def ahead(several):
        for number, done in enumerate(encoding.embed_here(iter(list(several)))):
            if number == 3:
                raise SystemExit
            yield done

    encoding = encoding_of(model, "document", held=7)
    encoding.spread = ahead
    path = tmp_path / "v.npy"
    with pytest.raises(SystemExit):
        encode_to_file(map(encoding.read, records()), str(path), encoding, resume=True)
    assert "stopped after 21 records; add --resume to continue" in capsys.readouterr().err
    assert 60 == encode_file(model, path, records(), resume=True)["count"]
    assert [record["id"] for record in records()] == read_embeddings([str(path)]).ids
