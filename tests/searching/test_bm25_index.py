"""A saved index for BM25: it finds what a fresh one finds, and says what is wrong with it."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.searching.bm25 import BM25
from tests.conftest import PROGRAM, WARM, environment
from tests.searching.index_runs import found as run_of

TEXTS = [
    f"def word{number % 7}(self): return the_{number} + readFile({number})" for number in range(50)
]
QUERIES = ("word3 read", "file", "the self the_7", "absent", "")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": f"d{i}", "code": text}) for i, text in enumerate(TEXTS)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines) + "\n")
    queries = [json.dumps({"id": f"q{i}", "query": text}) for i, text in enumerate(QUERIES)]
    (tmp_path / "q.jsonl").write_text("\n".join(queries) + "\n")
    return tmp_path


def found(files: Path, corpus: str, save: str | None = None, **options):
    if save:
        options["save_index"] = str(files / save)
    return run_of(str(files / corpus), str(files / "q.jsonl"), 20, **options)


@given(
    texts=st.lists(st.text(st.sampled_from("abAB_ é9\n")), min_size=1, max_size=12),
    queries=st.lists(st.text(st.sampled_from("abAB_ é9")), max_size=4),
    stopwords=st.booleans(),
)
def test_what_is_opened_finds_what_was_saved(tmp_path_factory, texts, queries, stopwords):
    doc_ids = [f"d {number}\t" for number in range(len(texts))]
    try:
        fresh = BM25(doc_ids, texts, k1=0.9, b=0.4, stopwords=stopwords, reading={"x": None})
    except UserError:
        return  # no words
    folder = str(tmp_path_factory.mktemp("index") / "words")
    fresh.save(folder)
    opened = BM25.open(folder)
    for query in [*queries, *texts]:
        assert fresh.search(query, 5) == opened.search(query, 5)
    assert (fresh.settings, fresh.sha256, {"x": None}) == (
        opened.settings,
        opened.sha256,
        opened.reading,
    )


def test_the_command_writes_it_and_knows_it_by_its_folder(files):
    fresh = found(files, "c.jsonl", method="bm25")
    assert fresh
    assert fresh == found(files, "c.jsonl", "words", method="bm25")
    assert fresh == found(files, "words", method="bm25") == found(files, "words")
    meta = json.loads((files / "words/meta.json").read_text())
    assert 50 == meta["count"]
    assert {"k1": 1.5, "b": 0.75, "stopwords": True} == meta["settings"]
    assert {"document_field": None, "paths": None} == meta["reading"]


def test_bytes_on_the_command_line_are_those_of_a_fresh_index(files):
    run = [*WARM, "search", "--queries", "q.jsonl", "-o"]
    for more in (
        ["a.jsonl", "c.jsonl", "--method", "bm25"],
        ["b.jsonl", "c.jsonl", "--method", "bm25", "--save-index", "words"],
        ["c2.jsonl", "words"],
    ):
        subprocess.run([*run, *more], cwd=files, env=environment(), check=True)
    assert (files / "a.jsonl").read_bytes() == (files / "b.jsonl").read_bytes()
    assert (files / "a.jsonl").read_bytes() == (files / "c2.jsonl").read_bytes()
    asked = [*WARM, "search", "words", "--query", "word3 read", "-k", "2"]
    done = subprocess.run(asked, cwd=files, env=environment(), capture_output=True, check=True)
    best = json.loads(done.stdout.splitlines()[0])
    assert found(files, "c.jsonl", method="bm25")[0]["doc_id"] == best["doc_id"]


def test_the_hash_is_of_ids_and_texts():
    hashes = {
        BM25(ids, texts).sha256
        for ids, texts in (
            (["1", "2"], ["a b", "c"]),
            (["1", "2"], ["a", "b c"]),
            (["1", "3"], ["a b", "c"]),
            (["2", "1"], ["a b", "c"]),
        )
    }
    assert 4 == len(hashes)
    assert BM25(["1"], ["x"]).sha256 == BM25(["1"], ["x"], k1=3.0).sha256


def test_an_older_index_is_replaced_and_nothing_else(files):
    found(files, "c.jsonl", "words", method="bm25", k1=0.5)
    found(files, "c.jsonl", "words", method="bm25")
    assert 1.5 == BM25.open(str(files / "words")).settings["k1"]
    assert {"c.jsonl", "q.jsonl", "words"} == {path.name for path in files.iterdir()}
    (files / "other").mkdir()
    (files / "other/mine").write_text("x")
    for name in ("other", "q.jsonl"):
        with pytest.raises(UserError, match=f"{name} exists; name a new folder with --save-index"):
            found(files, "c.jsonl", name, method="bm25")
    assert ["mine"] == os.listdir(files / "other")


def test_what_cannot_be_written_leaves_the_older_index(files):
    found(files, "c.jsonl", "words", method="bm25")
    before = {path.name: path.read_bytes() for path in (files / "words").iterdir()}
    (files / "c.jsonl").write_text('{"id": "a\\nb", "code": "some words"}\n')
    with pytest.raises(UserError, match=r"id 'a\\nb' holds a line break; change the id"):
        found(files, "c.jsonl", "words", method="bm25")
    assert before == {path.name: path.read_bytes() for path in (files / "words").iterdir()}
    limited = ["bash", "-c", 'ulimit -f 20; trap "" XFSZ; "$@"', "-", *PROGRAM, "search", "d.jsonl"]
    lines = [json.dumps({"id": str(i), "code": f"word{i} other{i}"}) for i in range(5000)]
    (files / "d.jsonl").write_text("\n".join(lines))
    command = [*limited, "--method", "bm25", "--save-index", "words", "--queries", "q.jsonl"]
    done = subprocess.run(command, cwd=files, env=environment(), capture_output=True, text=True)
    assert 1 == done.returncode
    assert done.stderr.startswith("structkit: words: cannot be written: ")
    assert "--save-index" in done.stderr
    assert before == {path.name: path.read_bytes() for path in (files / "words").iterdir()}
    assert {"c.jsonl", "d.jsonl", "q.jsonl", "words"} == {path.name for path in files.iterdir()}


@pytest.mark.long
def test_a_kill_leaves_a_whole_index_or_none(files):
    lines = [json.dumps({"id": str(i), "code": f"word{i} other{i}"}) for i in range(20000)]
    (files / "d.jsonl").write_text("\n".join(lines))
    (files / "q.jsonl").write_text('{"id": "q", "query": "word3"}\n')
    command = [*PROGRAM, "search", "d.jsonl", "--method", "bm25", "--save-index", "words"]
    killed = 0
    for _ in range(3):
        process = subprocess.Popen(
            [*command, "--queries", "q.jsonl"],
            cwd=files,
            env=environment(),
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if any(name.endswith(".partial") for name in os.listdir(files)):
                time.sleep(0.001 * killed)
                process.send_signal(signal.SIGKILL)
                killed += 1
                break
        process.wait(60)
        if (files / "words").exists():
            assert 20000 == len(BM25.open(str(files / "words")).doc_ids)
    assert killed
    found(files, "d.jsonl", "words", method="bm25")
    assert [] == [name for name in os.listdir(files) if name.startswith(".")]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"k1": 0.9}, "words: was built with --k1 1.2, not --k1 0.9; leave it out"),
        ({"b": 0.0}, "words: was built with -b 0.75, not -b 0.0; leave it out"),
        ({"stopwords": True}, "words: was built with --no-stopwords, not --stopwords; leave"),
        ({"paths": True}, "words: was built with the default of --paths, not --paths; leave"),
        ({"document_field": "x"}, "with the default of --document-field, not --document-field x"),
    ],
)
def test_other_settings_than_those_of_the_index_are_refused(files, given, told):
    found(files, "c.jsonl", "words", method="bm25", k1=1.2, stopwords=False)
    same = found(files, "words", k1=1.2, b=0.75, stopwords=False)
    assert found(files, "c.jsonl", method="bm25", k1=1.2, stopwords=False) == same
    with pytest.raises(UserError, match=told):
        found(files, "words", **given)


def test_methods_and_folders_that_do_not_fit_are_told(files):
    found(files, "c.jsonl", "words", method="bm25")
    with pytest.raises(UserError, match="words: is an index for --method bm25; leave out --method"):
        found(files, "words", method="dense")
    with pytest.raises(UserError, match="is an index already; leave --save-index out"):
        found(files, "words", "again")
    (files / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty: holds no index for BM25 \(no meta.json\)"):
        found(files, "empty", method="bm25")


def test_a_damaged_index_is_refused(files):
    """Each file is spoiled in its turn, and mended again."""
    found(files, "c.jsonl", "words", method="bm25")
    folder = files / "words"
    meta = json.loads((folder / "meta.json").read_text())
    ids = (folder / "ids.txt").read_text().splitlines()
    words = json.loads((folder / "vocab.index.json").read_text())
    arrays = {name: (folder / f"{name}.csc.index.npy").read_bytes() for name in ("data", "indices")}
    starts = (folder / "indptr.csc.index.npy").read_bytes()
    beyond = arrays["indices"][:-4] + (50).to_bytes(4, "little")
    spoiled = [
        ("ids.txt", "\n".join(ids[:-1]), "ids.txt: holds 49 ids for 50 documents"),
        ("ids.txt", "\n".join([*ids, "x"]), "ids.txt: holds 51 ids for 50 documents"),
        ("ids.txt", "\n".join([*ids[:-1], ids[0]]), 'ids.txt:50: id "d0" is repeated'),
        ("ids.txt", b"\xff" * 9, "ids.txt: is damaged"),
        ("meta.json", "[1]", "meta.json: is not that of an index for BM25"),
        ("meta.json", json.dumps({**meta, "method": True}), "is not that of an index for BM25"),
        ("meta.json", "{", "meta.json: is damaged: it is not JSON"),
        ("meta.json", json.dumps({**meta, "format": 2}), "meta.json: has format 2, not 1"),
        ("meta.json", json.dumps({**meta, "count": 51}), "ids.txt: holds 50 ids for 51"),
        ("meta.json", json.dumps({**meta, "count": "50"}), "meta.json: is damaged: a setting"),
        ("meta.json", json.dumps({**meta, "settings": {}}), "meta.json: is damaged: a setting"),
        ("vocab.index.json", "{", "vocab.index.json: is damaged: it is not JSON"),
        ("vocab.index.json", json.dumps([*words]), "does not number its words"),
        ("vocab.index.json", json.dumps(dict(list(words.items())[:-1])), "does not fit the words"),
        (
            "data.csc.index.npy",
            arrays["data"][:-3],
            "data.csc.index.npy: is damaged, or not a .npy",
        ),
        ("data.csc.index.npy", b"", "data.csc.index.npy: is damaged, or not a .npy"),
        ("data.csc.index.npy", arrays["indices"], "data.csc.index.npy: is damaged: it holds other"),
        ("indices.csc.index.npy", starts, "indices.csc.index.npy: is damaged: it holds 114 post"),
        ("indices.csc.index.npy", beyond, "it names unknown documents"),
        ("indptr.csc.index.npy", arrays["indices"], "indptr.csc.index.npy: is damaged: it does"),
    ]
    for name, content, told in spoiled:
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        for method in ("bm25", None):
            with pytest.raises(UserError, match=told) as caught:
                found(files, "words", method=method)
        assert "build the index again with --save-index" == caught.value.remedy
        (folder / name).write_bytes(before)
    for path in sorted(folder.iterdir()):
        if path.name in ("params.index.json", "meta.json"):  # the first is bm25s's own
            continue
        path.rename(folder / "away")
        with pytest.raises(UserError, match=f"{path.name}: is missing; build the index again"):
            found(files, "words", method="bm25")
        (folder / "away").rename(path)
    assert found(files, "words")
