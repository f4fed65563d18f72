"""Embeddings that are cut to their first numbers, by a flag or by their model."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import structkit
from structkit.errors import UserError
from tests.jsonl import write
from tests.learning.encoders.zoo import sentence_folder
from tests.model_encodings import encode_file, encoding_of
from tests.searching.index_runs import found as run_of

TEXTS = ["a b", "C d e", "x y Z a b c"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two folders: with a module Normalize, and without."""
    from sentence_transformers.sentence_transformer.modules import Normalize

    place = tmp_path_factory.mktemp("models")
    sentence_folder(place / "unit", "Bert", more=[Normalize()])
    sentence_folder(place / "plain", "Bert")
    return place


@pytest.mark.parametrize("name", ["unit", "plain"])
@pytest.mark.parametrize("count", [1, 5, 16])
def test_the_first_numbers_are_kept(models, name, count):
    folder = str(models / name)
    found = encoding_of(folder, dimensions=count, engine="torch").embed(TEXTS)
    theirs = SentenceTransformer(folder, device="cpu")
    expected = theirs.encode(TEXTS, truncate_dim=count, normalize_embeddings=name == "unit")
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_table_is_cut_too():
    whole, cut = encoding_of("builtin").embed(TEXTS), encoding_of("builtin", dimensions=9)
    first = whole[:, :9]
    expected = first / np.linalg.norm(first, axis=1, keepdims=True)
    np.testing.assert_allclose(cut.embed(TEXTS), expected, atol=1e-6)
    assert 9 == structkit.load("builtin", dimensions=9).encode(TEXTS).shape[1]


def test_more_than_there_are_is_refused(models):
    with pytest.raises(UserError, match="--dimensions 17: the model gives 16; use at most 16"):
        encoding_of(str(models / "plain"), dimensions=17, engine="torch").embed(TEXTS)


def test_search_cuts_the_queries_as_the_corpus(models, tmp_path):
    given = {"model": str(models / "unit"), "engine": "torch"}
    records = [{"id": str(number), "positive": text} for number, text in enumerate(TEXTS)]
    corpus, saved = str(tmp_path / "corpus.npy"), str(tmp_path / "index")
    meta = encode_file(given["model"], corpus, records, dimensions=4, engine="torch")
    assert (4, 4) == (meta["dimensions"], meta["dim"])
    queries = write(tmp_path / "queries.jsonl", *({"id": text, "query": text} for text in TEXTS))
    run_of(corpus, queries, 1, **given, index="hnsw", save_index=saved)
    for each in (corpus, saved):
        hits = run_of(each, queries, 1, **given)
        assert ["0", "1", "2"] == [hit["doc_id"] for hit in hits]
        assert [1, 1, 1] == pytest.approx([hit["score"] for hit in hits])


def test_a_corpus_that_does_not_say_so_needs_the_flag(models, tmp_path):
    given = {"model": str(models / "unit"), "engine": "torch"}
    vectors = encoding_of(given["model"], dimensions=4, engine="torch").embed(TEXTS)
    rows = ({"id": str(number), "embedding": row.tolist()} for number, row in enumerate(vectors))
    corpus = write(tmp_path / "corpus.jsonl", *rows)
    queries = write(tmp_path / "queries.jsonl", {"id": "q", "query": "a b"})
    told = (
        "gives 16 dimensions, and the corpus has 4; encode queries .* cut both with --dimensions 4"
    )
    with pytest.raises(UserError, match=told):
        run_of(corpus, queries, 1, **given)
    assert "0" == run_of(corpus, queries, 1, **given, dimensions=4)[0]["doc_id"]
