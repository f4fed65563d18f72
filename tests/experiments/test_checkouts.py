"""Questions about whole checkouts: a tiny one, asked from archive to report."""

import gzip
import sys

import orjson
from hostile.good import tarred

from experiments import checkouts, report
from tests.jsonl import read, write

TEXTS = {
    "src/pool.py": "def open_pool(size):\n    return Pool(size)\n",
    "src/clock.py": "def read_clock():\n    return now()\n",
    "docs/install.md": "# Install\n\nUse the package manager to install it.\n",
}
QUESTIONS = {"code": ("how is a pool opened", "src/pool.py"),
             "docs": ("install by package manager", "docs/install.md")}  # fmt: skip


def test_a_tiny_checkout_is_asked_from_archive_to_report(tmp_path, monkeypatch, capsys):
    data, folder = tmp_path / "data", tmp_path / "runs"
    data.mkdir()
    packed = {f"tiny/{path}": text.encode() for path, text in TEXTS.items()}
    (data / "tiny.tar.xz").write_bytes(tarred(packed, "w:xz"))
    asked = [
        {"repository": "tiny", "kind": kind, "query": query, "relevant": [path]}
        for kind, (query, path) in QUESTIONS.items()
    ]
    write(data / "questions.jsonl", *asked)
    label = {"query_id": "tiny-1", "doc_id": "tiny/src/clock.py", "start_line": 9, "end_line": 9}
    query = {"id": "tiny-1", "repository": "tiny", "query": "read the clock"}
    for name, record in (("queries", query), ("qrels", label)):
        (data / f"{name}.jsonl.gz").write_bytes(gzip.compress(orjson.dumps(record)))
    given = ["--data", str(data), "--labelled", str(data), "--folder", str(folder)]
    monkeypatch.setattr(sys, "argv", ["checkouts", "ask", "ask-words", *given])
    checkouts.main()
    printed = capsys.readouterr().out
    assert 6 == printed.count(
        "| 1.000 [1.000, 1.000] | 1.000 [1.000, 1.000] | 1.000 [1.000, 1.000]"
    )
    values = [folder / f"values-{kind}.jsonl" for kind in ("labelled", *QUESTIONS)]
    assert {"ask", "ask-words"} == {each["run"] for file in values for each in read(file)}
    words = ["gather", *map(str, values), "--every", "--title", "", "--command", ""]
    words += ["--against", "ask-words", "--stated", "ask:ask-words:docs/tokens"]
    monkeypatch.setattr(
        sys, "argv", ["report", *words, "--folder", str(folder), "-o", f"{folder}/r.json"]
    )
    report.main()
    content = orjson.loads((folder / "r.json").read_bytes())
    assert ["ask:ask-words:docs/tokens"] == content["hypotheses"]
    assert 12 == len(content["comparisons"])
    assert 1.0 == content["rows"][0]["code/RR@10"]
