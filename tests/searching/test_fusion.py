"""Hybrid search: the sum of two searches; paths as words; what it refuses."""

from pathlib import Path

import pytest

from structkit import encode, fuse, search
from structkit.errors import UserError
from structkit.records.output import write_records
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


@pytest.fixture
def files(tmp_path):
    records = list(encode(CHUNKS, model="builtin"))
    return {
        "corpus": write(tmp_path / "corpus.jsonl", records),
        "texts": write(tmp_path / "texts.jsonl", CHUNKS),
        "queries": write(tmp_path / "queries.jsonl", QUERIES),
    }


def found(files, **options):
    corpus = files["texts" if options.get("method") == "bm25" else "corpus"]
    return run_of(corpus, files["queries"], 100, **options)


def test_it_is_the_weighted_fusion_of_both_searches(files, tmp_path):
    dense, lexical = str(tmp_path / "dense"), str(tmp_path / "lexical")
    write_records(found(files, model="builtin"), dense)
    write_records(found(files, method="bm25"), lexical)
    expected = list(fuse([dense, lexical], method="weighted", weight=[0.35, 0.65]))
    both = found(files, method="hybrid", model="builtin", texts=[files["texts"]])
    # hybrid sums in float32
    assert expected == [each | {"score": pytest.approx(each["score"], rel=1e-6)} for each in both]
    assert ["b", "a", "c"] == list(dict.fromkeys(row["query_id"] for row in both))


def test_more_documents_follow_the_same_first_ones(files, tmp_path):
    texts = [{"id": f"{n}", "text": f"{n} clients retry {n % 9}"} for n in range(230)]
    corpus, options = write(tmp_path / "many.jsonl", texts), {"method": "hybrid"}
    every, *others = (
        list(search(corpus, query="retry 7 of 150", k=k, **options)) for k in (220, 10, 100, 101)
    )
    assert [every[:10], every[:100], every[:101]] == others
    assert sorted(every, key=lambda each: -each["score"]) == every


def test_embeddings_without_a_text_are_refused(files, tmp_path):
    files["texts"] = write(tmp_path / "fewer.jsonl", CHUNKS[:2])
    told = 'document "[34]" has an embedding, but no text in --texts'
    with pytest.raises(UserError, match=told):
        found(files, method="hybrid", model="builtin", texts=[files["texts"]])


def test_wrong_usage(files):
    texts = [files["texts"]]
    with pytest.raises(UserError, match="--method hybrid needs --texts"):
        found(files, method="hybrid", model="builtin")
    files["corpus"] = write(Path(files["corpus"]), [{"id": "1", "embedding": [1.0, 2.0]}])
    with pytest.raises(UserError, match="the model: gives 256 dimensions, and the corpus has 2"):
        found(files, method="hybrid", texts=texts)  # builtin, where none is named
    with pytest.raises(UserError, match="--method dense takes no --texts"):
        found(files, texts=texts)
    with pytest.raises(UserError, match="--method dense takes no --k1, -b;"):
        found(files, k1=2.0, b=0.5)
    with pytest.raises(UserError, match="takes no --filter"):
        found(files, method="hybrid", model="builtin", texts=texts, filter=["a=b"])
