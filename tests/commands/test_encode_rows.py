"""encode --rows tokens and search by them, from texts to a run, by a plain and a ColBERT model."""

import numpy as np
import pytest

from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import quantize
from structkit.errors import UserError
from tests.jsonl import contents, write
from tests.learning.encoders.zoo import rows_folder
from tests.model_encodings import encode_file, encoding_of, records, untrained
from tests.searching.index_runs import found, pairs

LINES = records(["a b x", "D E x a", "a", "b b a D", "a b x"])
QUERIES = [{"id": "q", "query": "a b"}, {"id": "r", "query": "x"}]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "plain").mkdir()
    return {"plain": untrained(folder / "plain"), "rows": str(rows_folder(folder / "rows"))}


def rows_by_text(model, lines, side="document"):
    """What the engine gives for each text alone."""
    encoding = encoding_of(model, side, rows="tokens", engine="torch")
    texts = [line.get("text") or line["query"] for line in lines]
    return [encoding.engine.token_rows(encoding.encoder.inputs([t], side), side)[0] for t in texts]


@pytest.mark.parametrize("name", ["plain", "rows"])
@pytest.mark.parametrize("kind", [None, "fp16", "int8"])
def test_files_hold_the_rows_of_texts_in_order(models, tmp_path, name, kind):
    options = {"rows": "tokens", "quantize": kind, "keep": ["id"] if kind else []}
    meta = encode_file(models[name], tmp_path / "v.npy", LINES, **options)
    expected = rows_by_text(models[name], LINES)
    corpus = read_embeddings([str(tmp_path / "v.npy")])
    assert [line["id"] for line, own in zip(LINES, expected, strict=True) for _ in own] == (
        corpus.doc_ids
    )
    tolerance = {None: 1e-5, "fp16": 1e-3, "int8": 1e-2}[kind]
    np.testing.assert_allclose(corpus.vectors[:], np.concatenate(expected), atol=tolerance)
    names = {"v.npy", "v.ids.txt", "v.rows.txt", "v.hashes.txt", "v.meta.json"}
    names |= {"v.scales.f32"} if kind == "int8" else set()
    assert names | ({"v.fields.jsonl"} if kind else set()) == contents(tmp_path).keys()
    assert "tokens" == meta["rows"]


def test_a_colbert_model_needs_no_flag(models, tmp_path):
    encode_file(models["rows"], tmp_path / "v.npy", LINES)
    queries = write(tmp_path / "q.jsonl", *QUERIES)
    texts = write(tmp_path / "texts.jsonl", *LINES)
    of_files, of_texts = (
        found(str(corpus), str(queries), 9, model=models["rows"])
        for corpus in (tmp_path / "v.npy", texts)
    )
    sides = (QUERIES, "query"), (LINES, "document")
    of_queries, of_lines = (rows_by_text(models["rows"], *side) for side in sides)
    scores = [[float((q @ d.T).max(axis=1).sum()) for d in of_lines] for q in of_queries]
    assert 10 == len(of_files) and pairs(of_files) == pairs(of_texts)
    for row in of_files:
        place = ["q", "r"].index(row["query_id"]), int(row["doc_id"][1:])
        assert pytest.approx(scores[place[0]][place[1]], abs=1e-4) == row["score"]
    with pytest.raises(UserError, match="--similarity dot is of one embedding per text, not of"):
        found(str(tmp_path / "v.npy"), str(queries), model=models["rows"], similarity="dot")


def test_a_query_has_rows_of_tokens_if_the_corpus_does(models, tmp_path):
    encode_file(models["plain"], tmp_path / "v.npy", LINES, rows="tokens")
    queries = write(tmp_path / "q.jsonl", *QUERIES)
    encoding = encoding_of(models["plain"], "query", rows="tokens")
    made = encoding.embeddings(map(encoding.read, QUERIES))
    lines = [{**each, "embedding": each["embedding"].tolist()} for each in made]
    rows = write(tmp_path / "rows.jsonl", *lines)
    run = found(str(tmp_path / "v.npy"), str(rows), similarity="maxsim")
    assert run == found(
        str(tmp_path / "v.npy"), str(queries), similarity="maxsim", model=models["plain"]
    )


def test_reused_rows_are_those_of_one_run(models, tmp_path):
    lines = records()
    for name in ("whole", "reused"):
        (tmp_path / name).mkdir()
    options = {"rows": "tokens", "held": 7, "quantize": "fp16", "engine": "torch"}
    encode_file(models["plain"], tmp_path / "whole/v.npy", lines, **options)
    changed = [{"id": "new", "text": "other"}, *lines[:9], {**lines[3], "id": "copy"}, *lines[20:]]
    old = str(tmp_path / "whole/v.npy")
    encode_file(models["plain"], tmp_path / "reused/v.npy", changed, reuse=old, **options)
    before, after = (
        read_embeddings([str(tmp_path / name / "v.npy")]) for name in ("whole", "reused")
    )
    assert [line["id"] for line in changed] == [*dict.fromkeys(after.doc_ids)]
    for old_name, new_name in (("d3", "d3"), ("d3", "copy"), ("d59", "d59")):
        rows = [
            each.vectors[np.flatnonzero(np.array(each.doc_ids) == name)]
            for each, name in ((before, old_name), (after, new_name))
        ]
        np.testing.assert_array_equal(*rows)


def test_wrong_usage():
    with pytest.raises(UserError, match="--rows tokens needs a model of tokens; leave it out"):
        encoding_of("builtin", rows="tokens")
    assert np.isfinite(quantize(np.float32([[65_519]]), "fp16")[0]).all()
    with pytest.raises(UserError, match="an embedding holds numbers too large for 16 bits; norm"):
        quantize(np.float32([[1, 0], [0, -65_520]]), "fp16")


def test_rows_of_documents_are_pooled_and_those_of_queries_are_not(models, tmp_path):
    lines = records(["a b x D E a b", "a"])
    meta = encode_file(models["rows"], tmp_path / "v.npy", lines, pool_factor=2)
    whole = rows_by_text(models["rows"], lines)
    corpus = read_embeddings([str(tmp_path / "v.npy")])
    counts = [corpus.doc_ids.count(line["id"]) for line in lines]
    assert [1 + max(1, (len(each) - 1) // 2) for each in whole] == counts
    np.testing.assert_allclose(corpus.vectors[0], whole[0][0], atol=1e-5)
    assert 2 == meta["pool_factor"]
    made = encoding_of(models["rows"], "query", pool_factor=2.0)
    found = [each["embedding"] for each in made.embeddings(map(made.read, QUERIES[:1]))]
    assert len(rows_by_text(models["rows"], QUERIES[:1], "query")[0]) == len(found)
    with pytest.raises(UserError, match="--pool-factor is for rows of tokens"):
        encoding_of("builtin", pool_factor=2.0)
