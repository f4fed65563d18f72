"""Hybrid search: the sum of two searches; paths as words; what it refuses."""

import re

import numpy as np
import pytest

from structkit import fuse
from structkit.embeddings.vectors import EmbeddingRow
from structkit.errors import UserError
from structkit.scoring.runs import write_run
from tests.searching.index_runs import found as run_of
from tests.searching.index_runs import write

LINES = [1, 1]
CHUNKS = [
    {"id": "1", "path": "net/retry.py", "lines": LINES, "code": "def again(n): sleep(n)"},
    {"id": "2", "path": "net/client.py", "lines": LINES, "code": "class Client: retry = 3"},
    {"id": "3", "path": "docs/notes.py", "lines": LINES, "code": "nothing of it"},
    {"id": "4", "path": "net/pool.py", "lines": LINES, "code": "class Pool: client = Client()"},
]
QUERIES = [
    {"id": "b", "query": "where the client is"},
    {"id": "a", "query": "retry"},
    {"id": "c", "query": "unheard"},
]


def vector_of(text):
    counts = np.bincount([ord(letter) % 8 for letter in text], minlength=8)
    return (counts / np.linalg.norm(counts)).astype(np.float32)


class Letters:
    """Counts letters, of some texts at a time."""

    forks = False

    def embedded(self, records, source=None):
        every = list(records)
        for some in (every[:2], every[2:]):
            rows = [EmbeddingRow(record["id"]) for record in some]
            yield rows, np.array([vector_of(record["query"]) for record in some])

    def meta(self):
        return {"model_sha256": None}


@pytest.fixture
def files(tmp_path):
    embedded = [
        {"id": record["id"], "embedding": vector_of(record["code"]).tolist()} for record in CHUNKS
    ]
    return {
        "corpus": write(tmp_path / "corpus.jsonl", embedded),
        "texts": write(tmp_path / "texts.jsonl", CHUNKS),
        "queries": write(tmp_path / "queries.jsonl", QUERIES),
    }


def found(files, **options):
    corpus = files["texts" if options.get("method") == "bm25" else "corpus"]
    return run_of(corpus, files["queries"], 100, **options)


def test_it_is_the_weighted_fusion_of_both_searches(files, tmp_path):
    dense, lexical = str(tmp_path / "dense"), str(tmp_path / "lexical")
    write_run(found(files, encoding=Letters()), dense)
    write_run(found(files, method="bm25"), lexical)
    expected = list(fuse([dense, lexical], method="weighted", weight=[0.35, 0.65]))
    both = found(files, method="hybrid", encoding=Letters(), texts=[files["texts"]])
    # hybrid sums in float32
    assert expected == [each | {"score": pytest.approx(each["score"], rel=1e-6)} for each in both]
    assert ["b", "a", "c"] == list(dict.fromkeys(row["query_id"] for row in both))


def test_embeddings_without_a_text_are_refused(files, tmp_path):
    files["texts"] = write(tmp_path / "fewer.jsonl", CHUNKS[:2])
    told = 'document "[34]" has an embedding, but no text in --texts'
    with pytest.raises(UserError, match=f"{re.escape(files['corpus'])}, .*fewer.jsonl: {told}"):
        found(files, method="hybrid", encoding=Letters(), texts=[files["texts"]])


def test_wrong_usage(files):
    texts = [files["texts"]]
    with pytest.raises(UserError, match="--method hybrid needs --texts"):
        found(files, method="hybrid", encoding=Letters())
    with pytest.raises(UserError, match="the model: gives 256 dimensions, and the corpus has 8"):
        found(files, method="hybrid", texts=texts)  # builtin, where none is named
    with pytest.raises(UserError, match="--method dense takes no --texts"):
        found(files, texts=texts)
    with pytest.raises(UserError, match="--method dense takes no --k1, -b;"):
        found(files, k1=2.0, b=0.5)
    with pytest.raises(UserError, match="takes no --filter"):
        found(files, method="hybrid", encoding=Letters(), texts=texts, filter=["a=b"])
