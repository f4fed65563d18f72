"""`make data`: tiny sets from local repositories, by the code that brings the real ones."""

import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from conftest import completed
from hostile.good import zipped

from experiments.data.__main__ import SETS
from tests.jsonl import lines, write, write_files
from tests.repositories import git

BIN = f"BIN={Path(sys.executable).parent}"
PATCH = """diff --git a/clock.py b/clock.py
--- a/clock.py
+++ b/clock.py
@@ -1,2 +1,3 @@ def tick():
-x
+y
"""
FILES = {
    "src/clock.py": b"\xef\xbb\xbfdef tick():\r\n    return 1\n",
    "src/empty.py": b" \n",
    "src/odd.py": b"name = 'caf\xe9'\n",
    "src/notes.txt": b"no code\n",
    "tests/test_clock.py": b"tick()\n",
    "manual/use.html.en.utf8": b"<h1>Use</h1>",
    "manual/use.html.fr.utf8": b"<h1>Emploi</h1>",
    "logo.png": b"\x89PNG\0\1",
    "large.txt": b"a" * 1_000_001,
}
QUESTION = {"query": "a tick", "relevant": ["src/clock.py"], "category": "symbol"}
PART = {"path": "src/odd.py", "start_line": 1, "end_line": 1}
REPORT = {
    "instance_id": "attic-1",
    "meta_data": {
        "repo": "house/attic", "base_commit": "", "patch": PATCH,
        "problem_statement": "It ticks\r\nand ticks",
    },
}  # fmt: skip


def repository(folder, files):
    """Commit files; the commit is not the last one."""
    write_files(folder, files)
    git(folder, "init", "--quiet")
    (folder / "link.py").symlink_to("large.txt")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    revision = git(folder, "rev-parse", "HEAD").decode().strip()
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "two")
    return {"github": "/".join(folder.parts[-2:]), "revision": revision}


@pytest.fixture
def sets(tmp_path):
    """A mirror of two repositories, and the declaration of five sets of them."""
    attic = repository(tmp_path / "mirror/house/attic", FILES)
    REPORT["meta_data"]["base_commit"] = attic["revision"]
    asked = [QUESTION, {**QUESTION, "relevant": [], "secondary": [PART]}]
    row = {"idx": "web-1", "doc": "tick", "retrieval_idx": 0, "label": 1}
    others = {
        "labels/attic.json": json.dumps(asked).encode(),
        "reports.jsonl": json.dumps(REPORT).encode(),
        "codes.json": json.dumps({"def tick(): ...": 0}).encode(),
        "asked.json": json.dumps([row]).encode(),
    }
    bench = repository(tmp_path / "mirror/house/bench", others)
    about = {"what": "Tiny", "license": "MIT", "cost": "Nothing", "usual": True}
    codebases = {"attic": {**attic, "language": "python", "root": "src"}}
    made = {
        "repositories": {"annotations": {**bench, "folder": "labels"}, "codebases": codebases},
        "checkouts": {"codebases": codebases, "own": {"questions.jsonl": "questions.jsonl"}},
        "pages": {"codebases": {"test": {**attic, "root": "manual", "pages": r"\.en\.utf8$"}}},
        "localization": {
            "instances": {**bench, "file": "reports.jsonl"},
            "projects": ["house/attic"],
        },
        "cosqa": {"source": {**bench, "functions": "codes.json", "questions": "asked.json"}},
    }
    declared = {name: {**about, "made": name, **each} for name, each in made.items()}
    (tmp_path / "published.json").write_text("{}")
    write(tmp_path / "questions.jsonl", {"query": "q"})
    (tmp_path / "sets.yaml").write_text(yaml.safe_dump(declared))
    return tmp_path


def data(folder, *words):
    """What `make data` does with the sets of a folder."""
    given = f"DATA={folder}/data", f"MIRROR={folder}/mirror", f"DECLARED={folder}/sets.yaml"
    return completed(["make", "-s", "data", BIN, "RUNNABLE=", *given, *words], text=True)


def records(file):
    """The records of a packed file."""
    opened = lzma.open if file.suffix == ".xz" else gzip.open
    return [json.loads(line) for line in opened(file)]


def test_sets_come_from_git_at_their_revisions(sets):
    done = data(sets)
    assert 0 == done.returncode, done.stderr
    assert "cosqa: Tiny. License: MIT. Nothing." in done.stdout
    home = sets / "data"
    files = records(home / "repositories/files.jsonl.gz")
    assert [each["code"] for each in files] == [
        "def tick():\n    return 1\n",
        "name = 'caf\ufffd'\n",
    ]
    assert {"id": "attic/src/clock.py", "language": "python"}.items() <= files[0].items()
    ids = [each["id"] for each in records(home / "repositories/queries.jsonl.gz")]
    assert ids == ["attic-001", "attic-002"]
    first, second = records(home / "repositories/qrels.jsonl.gz")
    assert first == {"query_id": "attic-001", "doc_id": "attic/src/clock.py", "relevance": 2}
    assert (second["relevance"], second["start_line"]) == (1, 1)
    with tarfile.open(home / "checkouts/attic.tar.xz") as archive:
        kept = [name for name in sorted(FILES) if name not in {"logo.png", "large.txt"}]
        assert archive.getnames() == [f"attic/{name}" for name in kept]
    assert (home / "checkouts/questions.jsonl").exists()
    use = {"id": "manual/use.html", "path": "manual/use.html", "html": "<h1>Use</h1>"}
    assert [use] == records(home / "pages/test.jsonl.gz")
    [issue] = records(home / "localization/issues.jsonl.xz")
    assert issue["title"] == "It ticks" and issue["text"] == "It ticks\nand ticks"
    assert (issue["files"], issue["hunks"]) == (["clock.py"], [["clock.py", 1, 2]])
    [tree] = records(home / "localization/trees.jsonl.xz")
    texts = {each["sha"]: each["text"] for each in records(home / "localization/blobs.jsonl.xz")}
    assert {*tree["files"].values()} == {*texts} and "tests/test_clock.py" in tree["files"]
    [question] = records(home / "cosqa/retrieval_dev.jsonl.gz")
    [function] = records(home / "cosqa/corpus.jsonl.gz")
    assert question["doc_id"] == function["id"] == "cosqa-code-00000"


def test_what_is_here_stays_and_what_is_lacking_is_named(sets):
    assert 0 == data(sets).returncode
    (sets / "mirror/house/attic").rename(sets / "mirror/house/gone")
    again = data(sets)
    assert 0 == again.returncode and 5 == again.stdout.count("It is here.")
    for each in ("data/checkouts/attic.tar.xz", "data/cosqa/corpus.jsonl.gz"):
        (sets / each).unlink()
    # what was fetched from git is kept, too
    assert 0 == data(sets).returncode and (sets / "data/checkouts/attic.tar.xz").exists()
    shutil.rmtree(sets / "data")
    done = data(sets, "SET=checkouts cosqa")
    assert 2 == done.returncode and "cosqa: written to" in done.stdout
    [line] = [each for each in done.stderr.splitlines() if each.startswith("checkouts: ")]
    assert f"{sets}/mirror/house/attic" in line and "run the command again" in line


def test_a_source_that_changed_is_refused(sets):
    declared = yaml.safe_load((sets / "sets.yaml").read_text())
    declared["cosqa"]["sha256"] = {"corpus.jsonl.gz": "0f"}
    (sets / "sets.yaml").write_text(yaml.safe_dump(declared))
    done = data(sets, "SET=cosqa")
    assert 2 == done.returncode and "corpus.jsonl.gz: its sha256 would be" in done.stderr
    assert not (sets / "data/cosqa/corpus.jsonl.gz").exists()


def test_a_set_that_nobody_knows():
    done = completed(["make", "-s", "data", BIN, "RUNNABLE=", "SET=repos"], text=True)
    assert 2 == done.returncode and "unknown set 'repos'; available: advtest, c" in done.stderr


def test_the_questions_are_the_ones_that_were_measured():
    """Files of the project that are part of a set have the sums of the reports of their tables."""
    report = json.loads(Path("experiments/reports/checkouts.json").read_text())
    questions = SETS.with_name("questions.jsonl").read_bytes()
    assert hashlib.sha256(questions).hexdigest() in report["data"].values()


FAULTS = {
    "cut chunk": b"HTTP/1.1 206 \r\nTransfer-Encoding: chunked\r\n\r\n8\r\nPK\r\n",
    "bad status line": b"so sorry\r\n\r\n",
    "no answer": b"",
    "busy": b"HTTP/1.1 503 Busy\r\n\r\n",
    "gone": b"HTTP/1.1 404 Gone\r\n\r\n",
}


@pytest.fixture
def served():
    """The address of a server, its files, and faults that come first.

    It ends each answer after 400 bytes.
    """
    files, faults = {}, []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self):
            if faults:
                self.wfile.write(FAULTS[faults.pop(0)])
                return
            content = files.get(self.path)
            self.send_response(404 if content is None else 206)
            self.end_headers()
            first = int(re.search(r"bytes=(\d+)-", self.headers["Range"])[1])
            self.wfile.write((content or b"")[first : first + 400])

        def log_message(self, *given):
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", files, faults
    server.shutdown()
    server.server_close()


def declared(folder, **sets):
    """Declare some sets."""
    about = {"what": "Tiny", "license": "MIT", "cost": "Nothing"}
    made = {name: {**about, **each} for name, each in sets.items()}
    (folder / "sets.yaml").write_text(yaml.safe_dump(made))


FUNCTIONS = [{"url": f"https://example.org/{name}", "code": name} for name in "abc"]


@pytest.fixture
def published(tmp_path, served):
    """CodeSearchNet and AdvTest, as they are published."""
    address, files, _ = served
    rows = lines(*FUNCTIONS).encode()
    below = "python/final/jsonl/train/"
    archive = zipped(
        {f"{below}python_train_0.jsonl.gz": gzip.compress(rows), "python.pkl": os.urandom(900)}
    )
    files["/python.zip"] = archive
    source = {"name": "python.zip", "address": f"{address}/python.zip", "bytes": len(archive)}
    source |= {"sha256": hashlib.sha256(archive).hexdigest(), "below": below}
    renamed = {**FUNCTIONS[2], "function": "Func"}
    lists = {"train": "https://example.org/b\nhttps://example.org/a\n", "valid": ""}
    members = {f"dataset/{name}.txt": text for name, text in lists.items()}
    members["dataset/test.txt"] = f"{renamed['url']}\n"
    members["dataset/test_code.jsonl"] = lines(renamed)
    bench = repository(tmp_path / "mirror/house/bench", {"dataset.zip": zipped(members)})
    declared(
        tmp_path,
        codesearchnet={"made": "downloads", "files": [source]},
        advtest={"made": "advtest", "source": {**bench, "file": "dataset.zip"}},
        wikipedia={"by hand": "take it from a shelf"},
    )
    return tmp_path


def test_downloads_go_on_where_they_stopped(published):
    early = data(published, "SET=codesearchnet advtest wikipedia")
    assert 2 == early.returncode and "the connection ended early" in early.stderr
    assert "run make data SET=codesearchnet first" in early.stderr
    assert "wikipedia: take it from a shelf\n" in early.stderr
    done = data(published, "SET=codesearchnet advtest")
    assert 0 == done.returncode, done.stderr
    home = published / "data"
    assert ["final"] == [each.name for each in (home / "codesearchnet/python").iterdir()]
    assert not (home / "codesearchnet/python.zip").exists()
    train = [json.loads(line) for line in (home / "advtest/train.jsonl").read_text().splitlines()]
    assert train == [{**FUNCTIONS[1], "idx": 0}, {**FUNCTIONS[0], "idx": 1}]
    test = json.loads((home / "advtest/test.jsonl").read_text())
    assert test == {**FUNCTIONS[2], "function": "Func", "idx": 2}
    assert 0 == data(published, "SET=codesearchnet").returncode


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_server_is_told_and_tried_again(tmp_path, served, fault):
    address, files, faults = served
    files["/a.txt"] = b"tea\n"
    source = {"name": "a.txt", "address": f"{address}/a.txt", "bytes": 4}
    source |= {"sha256": hashlib.sha256(b"tea\n").hexdigest()}
    declared(tmp_path, tea={"made": "downloads", "files": [source]})
    faults += [fault]
    done = data(tmp_path, "SET=tea")
    assert f"tea: {address}/a.txt: " in done.stderr or "; trying again" in done.stderr
    assert "Traceback" not in done.stderr
    if fault == "gone":  # nothing is gained by asking again
        assert 2 == done.returncode and "trying again" not in done.stderr
    else:
        assert 0 == done.returncode and b"tea\n" == (tmp_path / "data/tea/a.txt").read_bytes()
    shutil.rmtree(tmp_path / "data")
    faults[:] = [fault] * 3
    assert 2 == data(tmp_path, "SET=tea").returncode


def test_a_file_that_is_here_is_checked_before_it_is_used(tmp_path, served):
    address, files, _ = served
    files["/a.txt"] = b"tea\n"
    source = {"name": "a.txt", "address": f"{address}/a.txt", "bytes": 4}
    source |= {"sha256": hashlib.sha256(b"tea\n").hexdigest()}
    declared(tmp_path, tea={"made": "downloads", "files": [source]})
    place = tmp_path / "data/tea/a.txt"
    place.parent.mkdir(parents=True)
    place.write_text("fig\n")
    done = data(tmp_path, "SET=tea")
    assert 2 == done.returncode and "damaged or another file: move it away" in done.stderr
    assert "fig\n" == place.read_text(), "a file that somebody put here is not deleted"
    place.write_text("tea\n")
    files.clear()
    assert 0 == data(tmp_path, "SET=tea").returncode


def test_damaged_files_of_a_set_are_named_and_made_again(sets):
    assert 0 == data(sets).returncode
    changed = sets / "data/cosqa/corpus.jsonl.gz"
    before = changed.read_bytes()
    changed.write_bytes(before[:-1] + b"x")
    done = data(sets)
    assert 0 == done.returncode and before == changed.read_bytes()
    assert "cosqa: damaged: corpus.jsonl.gz; made again\n" == done.stderr
    assert 4 == done.stdout.count("It is here.") and "" == data(sets).stderr


def test_a_damaged_member_of_an_archive_is_unpacked_again(published):
    while data(published, "SET=codesearchnet").returncode:
        pass
    [member] = (published / "data/codesearchnet").rglob("*.jsonl.gz")
    before = member.read_bytes()
    member.write_bytes(b"")
    while (done := data(published, "SET=codesearchnet")).returncode:
        assert "the connection ended early" in done.stderr
    assert before == member.read_bytes()


def test_a_file_that_is_not_the_pinned_one_is_deleted(published):
    text = (published / "sets.yaml").read_text()
    (published / "sets.yaml").write_text(re.sub("sha256: \\w+", "sha256: '0'", text))
    data(published, "SET=codesearchnet")
    done = data(published, "SET=codesearchnet")
    assert 2 == done.returncode and "another file than was pinned" in done.stderr
    assert not [*(published / "data/codesearchnet").iterdir()]


def test_pairs_are_read_from_tables(tmp_path):
    tables = {"words.tsv": b"old\tnew\t1.5\n", "rte.tsv": b'i\ta\tb\tl\n0\tx\t"y\tentailment\n'}
    tables["pairs.csv"] = b'sent1,sent2,score\n"a ""b"", c",d,0\n'
    bench = repository(tmp_path / "mirror/house/bench", tables)
    kinds = (
        ("words", "words.tsv", "score", [0, 1, 2], 0),
        ("rte", "rte.tsv", "label", [1, 2, 3], 1),
        ("pairs", "pairs.csv", "label", [0, 1, 2], 1),
    )
    sources = [
        {**bench, "columns": columns, "header": header, "value": value, "tables": {name: file}}
        for name, file, value, columns, header in kinds
    ]
    declared(tmp_path, strae_eval={"made": "similarity", "sources": sources})
    done = data(tmp_path, "SET=strae_eval")
    assert 0 == done.returncode, done.stderr
    found = {name: records(tmp_path / f"data/strae_eval/{name}.jsonl.gz")[0] for name, *_ in kinds}
    assert found["words"]["score"] == 1.5
    assert found["rte"] == {"id": "rte-00000", "text_a": "x", "text_b": '"y', "label": 1}
    assert (found["pairs"]["text_a"], found["pairs"]["label"]) == ('a "b", c', 0)
