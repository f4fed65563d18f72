"""Indexes over rows that are equal, few, or beside others: no document is lost silently."""

import numpy as np
import pytest

from tests.searching.index_runs import found, matrix, pairs

DOCUMENTS, K = 10, 10
INDEXES = [
    {"index": "hnsw"},
    {"index": "HNSW8"},
    {"index": "HNSW8,SQ8"},
    {"index": "ivf", "parameters": "nprobe=1"},
    {"index": "IVF10,Flat"},
    {"index": "int8"},
    {"index": "binary"},
]


@pytest.fixture
def rows():
    """A document of 100 equal chunks, and nine of one chunk each."""
    others = np.random.default_rng(0).normal(size=(DOCUMENTS, 16)).astype("f4")
    return np.concatenate([np.repeat(others[:1], 100, 0), others[1:]])


def corpus_of(folder, rows, names):
    ids = [f"row {number}" for number in range(len(rows))]
    path = matrix(folder / "corpus.npy", rows, ids)
    (folder / "corpus.doc_ids.txt").write_text("".join(f"{name}\n" for name in names))
    return path


@pytest.fixture
def corpus(tmp_path, rows):
    return corpus_of(tmp_path, rows, ["a"] * 100 + [f"b{n}" for n in range(1, DOCUMENTS)])


@pytest.fixture
def queries(tmp_path, rows):
    return matrix(tmp_path / "queries.npy", rows[[0, 105]], ["q", "r"])


@pytest.mark.parametrize("options", INDEXES, ids=str)
def test_documents_beside_equal_rows_are_found(corpus, queries, options, tmp_path):
    expected = found(corpus, queries, K)
    assert 2 * DOCUMENTS == len(expected)
    documents = {*pairs(expected)}
    assert documents == {*pairs(found(corpus, queries, K, **options))}
    # and where only the saved index has the vectors
    saved = str(tmp_path / "saved")
    found(corpus, queries, K, **options, save_index=saved)
    given = {"parameters": options["parameters"]} if "parameters" in options else {}
    assert documents == {*pairs(found(saved, queries, K, **given))}


@pytest.mark.parametrize("options", INDEXES, ids=str)
def test_all_rows_may_be_equal(tmp_path, rows, queries, options):
    corpus = corpus_of(tmp_path, rows[:100], [f"d{n}" for n in range(100)])
    for k in (1, K, 100, 500):
        assert 2 * min(k, 100) == len(found(corpus, queries, k, **options))


@pytest.mark.parametrize("index", ["hnsw", "HNSW32", "PCA64,HNSW32", "NSG32"])
@pytest.mark.parametrize("equal", [1, 20])  # groups of equal rows
def test_rows_beside_many_equal_ones_are_found_near_others(tmp_path, index, equal):
    random = np.random.default_rng(1)
    same, others = (random.normal(size=(n, 64)).astype("f4") for n in (equal, 300))
    rows = np.concatenate([np.repeat(same, 1000 // equal, 0), others])
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True))[random.permutation(len(rows))]
    corpus = corpus_of(tmp_path, rows, [f"d{n}" for n in range(len(rows))])
    asked = others[:40] + 0.3 * random.normal(size=(40, 64)).astype("f4")
    queries = matrix(tmp_path / "queries.npy", asked, [f"q{n}" for n in range(40)])
    expected, saved = {*pairs(found(corpus, queries, K))}, str(tmp_path / "saved")
    for given in (
        found(corpus, queries, K, index=index, save_index=saved),
        found(saved, queries, K),
    ):
        assert len(expected & {*pairs(given)}) >= 0.99 * len(expected)
