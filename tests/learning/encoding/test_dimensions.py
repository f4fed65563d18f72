"""Embeddings that are cut to their first numbers, by a flag or by their model."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import structkit
from structkit.errors import UserError
from tests.jsonl import write
from tests.learning.encoders.zoo import sentence_folder
from tests.model_encodings import encode_file, encoding_of

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


@pytest.mark.long
@pytest.mark.parametrize("saved", [False, True])
def test_search_cuts_the_queries_as_the_corpus(models, tmp_path, run, saved):
    model = str(models / "unit")
    records = [{"id": str(number), "positive": text} for number, text in enumerate(TEXTS)]
    meta = encode_file(model, tmp_path / "corpus.npy", records, dimensions=4, engine="torch")
    assert (4, 4) == (meta["dimensions"], meta["dim"])
    write(tmp_path / "queries.jsonl", *({"id": text, "query": text} for text in TEXTS))
    corpus = [tmp_path / "corpus.npy"]
    command = ["-m", model, "--engine", "torch", "--queries", tmp_path / "queries.jsonl", "-k", "1"]
    if saved:
        first = run("search", *corpus, *command, "--index", "hnsw", "--save-index", tmp_path / "ix")
        assert 0 == first.returncode, first.stderr
        corpus = [tmp_path / "ix"]
    found = run("search", *corpus, *command)
    assert 0 == found.returncode, found.stderr
    hits = [json.loads(line) for line in found.stdout.splitlines()]
    assert ["0", "1", "2"] == [hit["doc_id"] for hit in hits]
    assert [1, 1, 1] == pytest.approx([hit["score"] for hit in hits])


@pytest.mark.long
def test_a_corpus_that_does_not_say_so_needs_the_flag(models, tmp_path, run):
    model = str(models / "unit")
    vectors = encoding_of(model, dimensions=4, engine="torch").embed(TEXTS)
    rows = ({"id": str(number), "embedding": row.tolist()} for number, row in enumerate(vectors))
    write(tmp_path / "corpus.jsonl", *rows)
    command = ["search", tmp_path / "corpus.jsonl", "-m", model, "--engine", "torch"]
    command += ["--query", "a b", "-k", "1"]
    refused = run(*command)
    assert 1 == refused.returncode
    assert b"gives 16 dimensions, and the corpus has 4; encode queries" in refused.stderr
    assert b"or cut both with --dimensions 4" in refused.stderr
    assert b'"doc_id":"0"' in run(*command, "--dimensions", "4").stdout
