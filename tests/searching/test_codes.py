"""Search in rows of encode --quantize: exact, and codes first with vectors afterwards."""

import json

import numpy as np
import pytest

from structkit.embeddings.reading import read_embeddings
from structkit.errors import UserError
from tests.cli.complaints import complaint
from tests.searching.index_runs import (
    SIZE,
    found,
    grouped,
    matrix,
    pairs,
    write,
    write_queries,
    written,
)

KINDS = ("int8", "binary")
EVERY = "k_factor_rf=600"


@pytest.fixture
def vectors():
    return grouped()


@pytest.fixture
def queries(tmp_path, vectors):
    return write_queries(tmp_path, vectors)


@pytest.fixture
def floats(tmp_path, vectors):
    return written(tmp_path / "floats.npy", vectors, None)


def codes(folder, vectors, kind):
    return written(folder / f"{kind}.npy", vectors, kind)


def recall(run, truth):
    return len({*pairs(run)} & {*pairs(truth)}) / len(truth)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_search_is_that_of_the_floats_they_stand_for(tmp_path, vectors, queries, kind):
    corpus = codes(tmp_path, vectors, kind)
    rows = read_embeddings([corpus])
    plain = matrix(tmp_path / "plain.npy", rows.vectors[:], rows.ids)
    assert found(plain, queries) == found(corpus, queries)


@pytest.mark.parametrize(("kind", "least"), [("int8", 0.999), ("binary", 0.75)])
def test_some_rows_rescored_have_true_scores(tmp_path, vectors, floats, queries, kind, least):
    truth = found(floats, queries)
    corpus = codes(tmp_path, vectors, kind)
    run = found(corpus, queries, rescore=(floats,))
    assert recall(run, truth) >= least
    assert recall(run, truth) >= recall(found(corpus, queries), truth)
    scores = {pair: row["score"] for pair, row in zip(pairs(truth), truth, strict=True)}
    for pair, row in zip(pairs(run), run, strict=True):
        assert row["score"] == scores.get(pair, row["score"])


def test_hamming_distance_by_hand(tmp_path):
    """Signs of the query are + + - -: of four rows, c is at distance 0, b 1, a 3, d 4.

    With k_factor_rf=2, one wanted document has two candidates, c and b; b's product is larger.
    """
    rows = np.array([[-1, -1, 9, -1], [2, 2, 2, -2], [1, 1, -1, -1], [-1, -1, 1, 1]], np.float32)
    floats = written(tmp_path / "f.npy", rows, None, ["a", "b", "c", "d"])
    bits = written(tmp_path / "b.npy", rows, "binary", ["a", "b", "c", "d"])
    queries = write(tmp_path / "q.jsonl", [{"id": "q", "embedding": [5, 4, -1, -1]}])

    def first(factor):
        parameters = f"k_factor_rf={factor}"
        (hit,) = found(bits, queries, 1, rescore=(floats,), parameters=parameters)
        return hit["doc_id"], hit["score"]

    assert ("c", 11) == first(1)
    assert ("b", 18) == first(2)
    (hit,) = found(bits, queries, 1, backend="codes")
    assert ("c", 5.5) == (hit["doc_id"], hit["score"])  # half of 5 + 4 + 1 + 1
    rows[3, 0] = np.nan  # it is found where the row is a candidate, and not before
    written(tmp_path / "f.npy", rows, None, ["a", "b", "c", "d"])
    assert ("b", 18) == first(3)
    with pytest.raises(UserError, match='the vector of "d" holds NaN or infinity'):
        first(4)


def test_documents_of_several_rows_and_filters(tmp_path, vectors, queries):
    names, docs = [f"c{n}" for n in range(600)], [f"d{n // 3}" for n in range(600)]
    kept = "".join(f'{{"language":"{["go", "python"][n % 2]}"}}\n' for n in range(600))
    vectors[7] = vectors[30]  # equal scores, in the order of exact search
    corpora = []
    for kind in (None, *KINDS):
        corpora.append(written(tmp_path / f"{kind}.npy", vectors, kind, names))
        (tmp_path / f"{kind}.doc_ids.txt").write_text("".join(f"{each}\n" for each in docs))
        (tmp_path / f"{kind}.fields.jsonl").write_text(kept)
        meta = tmp_path / f"{kind}.meta.json"  # as other programs write it
        facts = json.loads(meta.read_text())
        meta.write_text(json.dumps({name: facts[name] for name in facts if name != "files"}))
    for more in ({}, {"filter": ("language=go",)}, {"explain": True}):
        expected = found(corpora[0], queries, **more)
        for corpus in corpora[1:]:
            options = {"rescore": (corpora[0],), "parameters": EVERY, **more}
            assert expected == found(corpus, queries, **options)


def test_queries_may_be_codes(tmp_path, vectors):
    """The inner product of signs is what their Hamming distance says."""
    corpus = codes(tmp_path, vectors, "binary")
    queries = written(tmp_path / "q.npy", vectors[:3], "binary")
    bits = np.unpackbits(np.load(corpus), axis=1)
    distances = (bits[:3, None] != bits[None]).sum(axis=2)
    for row in found(corpus, queries):
        distance = distances[int(row["query_id"][1:]), int(row["doc_id"][1:])]
        assert row["score"] == pytest.approx(1 - 2 * distance / SIZE, abs=1e-6)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["int8.npy", "--rescore", "f.npy", "--index", "hnsw"], "--backend codes takes no --ind"),
        (["int8.npy", "--rescore", "f.npy", "--backend", "exact"], "takes no --rescore"),
        (
            ["int8.npy", "--rescore", "f.npy", "--parameters", "nprobe=2"],
            "codes take only k_factor_rf",
        ),
        (["f.npy", "--index", "nonsense"], "--index nonsense is not an index that faiss knows"),
        (["f.npy", "--filter", "language"], "--filter language names no value; write it as FIELD="),
        (["f.npy", "--method", "bm25", "--index", "hnsw"], "--method bm25 takes no --index"),
        (["f.npy", "--rescore", "f.npy"], "f.npy: holds floats, not codes; encode with"),
        (["f.npy", "--rescore", "f.npy", "--method", "bm25"], "--method bm25 takes no --rescore"),
    ],
)
def test_wrong_usage(here, tmp_path, flags, problem):
    written(tmp_path / "f.npy", np.eye(3, dtype="f4"), None)
    codes(tmp_path, np.eye(3, dtype="f4"), "int8")
    write(tmp_path / "q.jsonl", [{"id": "q", "embedding": [1, 0, 0]}])
    assert problem in complaint(here("search", *flags, "--queries", "q.jsonl"), 2)


@pytest.mark.parametrize(
    ("rows", "ids"), [(np.eye(3, 4), "abc"), (np.eye(2, 3), "ab"), (np.eye(3), "axc")]
)
def test_vectors_of_other_rows(tmp_path, rows, ids):
    corpus = written(tmp_path / "int8.npy", np.eye(3, dtype="f4"), "int8", list("abc"))
    other = written(tmp_path / "other.npy", rows.astype("f4"), None, list(ids))
    queries = write(tmp_path / "q.jsonl", [{"id": "q", "embedding": [1, 0, 0]}])
    with pytest.raises(UserError, match=r"other.npy: holds other rows than .*int8.npy; name emb"):
        found(corpus, queries, rescore=(other,))
