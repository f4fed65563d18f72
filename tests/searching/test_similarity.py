"""`search -m` ranks by the similarity that the model says, as sentence-transformers compares."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from structkit import load
from structkit.embeddings.reading import read_embeddings
from structkit.errors import UserError
from structkit.searching.index import Index
from tests.jsonl import write
from tests.learning.encoders.zoo import edit, sentence_folder
from tests.model_encodings import encoding_of
from tests.searching.index_runs import found as run_of

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
TEXTS = [" ".join("abcDEFgh"[place % 7 :: 1 + place % 3]) for place in range(20)]
QUERIES = ["a b", "D E x", ""]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A model without Normalize, its embeddings of texts, and queries."""
    folder = tmp_path_factory.mktemp("store")
    sentence_folder(folder / "model", "Bert", pooling="max")
    records = [{"id": f"{place:02}", "embedding": row.tolist()} for place, row in encoded(folder)]
    write(folder / "corpus.jsonl", *records)
    queries = [{"id": str(place), "query": text} for place, text in enumerate(QUERIES)]
    write(folder / "queries.jsonl", *queries)
    return folder


def encoded(folder):
    return enumerate(encoding_of(str(folder / "model"), engine="torch").embed(TEXTS))


def found(folder, k=5, **values):
    given = {name: str(folder / f"{name}.jsonl") for name in ("corpus", "queries")}
    given |= {"model": str(folder / "model"), "engine": "torch", **values}
    return [(run["query_id"], run["doc_id"], run["score"]) for run in run_of(k=k, **given)]


@pytest.mark.parametrize("name", [None, *SIMILARITIES])
def test_the_ranking_is_that_of_the_library(store, name):
    edit(store / "model" / "config_sentence_transformers.json", similarity_fn_name=name)
    theirs = SentenceTransformer(str(store / "model"), device="cpu")
    scores = theirs.similarity(theirs.encode_query(QUERIES), theirs.encode_document(TEXTS)).numpy()
    run = found(store, k=20)
    ours = np.zeros_like(scores)
    for query, document, score in run:
        ours[int(query), int(document)] = score
    np.testing.assert_allclose(ours, scores, atol=2e-5, rtol=2e-5)
    model = load(str(store / "model"), engine="torch")
    same = model.similarity(model.encode(QUERIES, as_="query"), model.encode(TEXTS))
    np.testing.assert_allclose(same, scores, atol=2e-5, rtol=2e-5)
    for query in range(len(QUERIES)):
        ranked = [score for number, _, score in run if int(number) == query]
        assert sorted(ranked, reverse=True) == ranked
    first = {number: document for number, document, _ in reversed(run)}
    best = scores.argmax(1)
    assert all(
        scores[int(number), int(document)] >= scores[int(number), best[int(number)]] - 1e-5
        for number, document in first.items()
    )


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_flag_says_another(store, name):
    edit(store / "model" / "config_sentence_transformers.json", similarity_fn_name="dot")
    own = found(store, similarity=name)
    edit(store / "model" / "config_sentence_transformers.json", similarity_fn_name=name)
    assert own == found(store)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_rows_are_compared_in_blocks_as_at_once(store, name):
    corpus = read_embeddings([str(store / "corpus.jsonl")])
    queries = corpus.vectors[:3] + 0.1
    whole, parts = (Index(corpus, name, size).search(queries, 5) for size in (len(TEXTS), 3))
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("name", ["cosine", "euclidean", "manhattan"])
def test_an_index_of_inner_products_refuses_in_one_line(store, name):
    with pytest.raises(UserError, match=f"ranks by inner product, not by {name}") as caught:
        found(store, similarity=name, index="hnsw")
    assert "search with --backend exact" in str(caught.value)


def test_an_index_of_rows_of_length_one_ranks_by_cosine(store, tmp_path):
    rows = np.array([row for _, row in encoded(store)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    records = [{"id": f"{n:02}", "embedding": row.tolist()} for n, row in enumerate(rows)]
    write(tmp_path / "corpus.jsonl", *records)
    corpus = str(tmp_path / "corpus.jsonl")
    expected = found(store, corpus=corpus, similarity="cosine")
    saved = str(tmp_path / "index")
    index = found(store, corpus=corpus, similarity="cosine", index="hnsw", save_index=saved)
    assert json.loads((tmp_path / "index" / "meta.json").read_text())["unit"]
    again = found(store, corpus=saved, similarity="cosine")
    for other in index, again:
        assert [hit[:2] for hit in expected] == [hit[:2] for hit in other]
        assert [hit[2] for hit in expected] == pytest.approx([hit[2] for hit in other], abs=1e-6)
    with pytest.raises(UserError, match="not by euclidean"):
        found(store, corpus=saved, similarity="euclidean")


def test_equal_documents_of_other_lengths_tie_by_cosine(tmp_path):
    rows = [
        {"id": name, "embedding": [scale * 3.0, scale * 4.0]}
        for name, scale in zip("abcd", (1, 2, 0.5, 8), strict=True)
    ]
    write(tmp_path / "corpus.jsonl", *rows, {"id": "zero", "embedding": [0.0, 0.0]})
    write(tmp_path / "queries.jsonl", {"id": "q", "embedding": [6.0, 8.0]})
    run = found(tmp_path, k=9, model=None, engine="auto", similarity="cosine")
    assert ["d", "c", "b", "a", "zero"] == [document for _, document, _ in run]
    assert [1, 1, 1, 1, 0] == pytest.approx([score for *_, score in run])
