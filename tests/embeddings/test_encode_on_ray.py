"""encode --ray: windows that other processes embed give the files of one process."""

import subprocess
import sys
from collections import Counter
from importlib.util import find_spec

import orjson
import pytest
from conftest import environment

from structkit.cli.main import main
from structkit.commands.encode import encode_to_file
from structkit.embeddings.npy import VectorFiles
from structkit.learning.encode import windows as windowed
from structkit.learning.encode.encoding import Encoding
from structkit.learning.encode.on_ray import _Remote, over
from structkit.learning.training.tokens import Truncation
from tests.commands.test_encode import model, records  # noqa: F401


@pytest.mark.parametrize("flags", [["--reuse", "o.npy"], ["--device", "cuda"], ["--field", "b"]])
def test_what_does_not_go_together_is_wrong_usage(flags, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["encode", "-m", "none", "--field", "a", "--ray", "local", *flags]
    monkeypatch.setattr(sys, "argv", ["structkit", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert 2 == ended.value.code
    assert "exclude each other" in capsys.readouterr().err


def test_what_others_counted_is_added():
    ours, theirs = Truncation(), Truncation()
    ours.count("document", 3, 1)
    theirs.count("document", 2, 2)
    counted = theirs.drained()
    assert not theirs.texts and not theirs.truncated
    ours.merge(counted)
    assert (Counter(document=5), Counter(document=3)) == (ours.texts, ours.truncated)


def test_a_process_that_makes_its_own_encoding_embeds_the_same(model):  # noqa: F811
    encoding = Encoding(model, "document", chunk=4, keep=["n"])
    [window] = windowed.windows(encoding.texts(records(n=1)))
    rows, vectors = encoding.window(window)
    remote = _Remote.of(encoding)
    for _ in range(2):  # counts are of one window
        (remote_rows, remote_vectors), counts = remote(window)
        assert rows == remote_rows and (vectors == remote_vectors).all()
        assert dict(encoding.truncation.texts) == dict(counts["texts"])


def test_one_window_needs_no_ray(model, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "ray", None)
    encoding = Encoding(model, "document")
    encoding.spread = over("local", encoding)
    assert 60 == sum(len(rows) for rows, _ in encoding.embedded(records()))


SMALL = """
import sys
from structkit.cli import main
from structkit.learning.encode import windows
windows.WINDOW = 7
main()
"""


@pytest.mark.skipif(not find_spec("ray"), reason="the extra ray is not installed")
@pytest.mark.parametrize("output", ["v.npy", "v.jsonl"])
def test_the_files_are_those_of_one_process(model, tmp_path, output):  # noqa: F811
    lines = [orjson.dumps(record) + b"\n" for record in records(n=1)]
    lines.insert(33, b'{"id": "bad"}\n')
    (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
    made = []
    for flags in ([], ["--ray", "local"]):
        folder = tmp_path / f"out{len(flags)}"
        folder.mkdir()
        words = ["encode", "../in.jsonl", "-m", model, "--length", "9", "-o", output, *flags]
        words += ["--on-error", "skip", "--rejects", "rejects.jsonl"]
        done = subprocess.run(
            [sys.executable, "-c", SMALL, *words],
            cwd=folder,
            env=environment(OMP_NUM_THREADS="1"),
            capture_output=True,
            timeout=300,
        )
        made.append(
            (done.returncode, done.stderr, {p.name: p.read_bytes() for p in folder.iterdir()})
        )
    assert made[0] == made[1]
    assert 0 == made[0][0] and b"of 60 document texts were longer" in made[0][1]


def test_a_checkpoint_counts_the_records_of_its_rows(model, tmp_path, monkeypatch):  # noqa: F811
    """Where windows are read ahead, a run that is resumed would otherwise leave some out."""
    monkeypatch.setattr(windowed, "WINDOW", 7)
    states = []
    monkeypatch.setattr(
        VectorFiles, "checkpoint", lambda files, state: states.append((files.count, state))
    )
    encoding = Encoding(model, "document")
    encoding.spread = lambda several: encoding.here(iter(list(several)))
    encode_to_file(encoding.texts(records()), str(tmp_path / "v.npy"), encoding)
    assert [*range(7, 60, 7), 60] == [count for count, _ in states]
    assert [count for count, _ in states] == [state["records"] for _, state in states]
