"""Exact search: against brute force, with ties; and the errors of bad embeddings."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit import encode
from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import Matrix, largest_norm
from structkit.errors import UserError
from structkit.scoring.runs import read_run
from structkit.searching.index import Index
from structkit.searching.options import RunOutput
from tests.searching.index_runs import found as run_of
from tests.searching.index_runs import matrix, write


def embeddings(ids, vectors):
    return Embeddings(ids, Matrix([vectors]), largest_norm(Matrix([vectors])), ids)


def brute_force(corpus, query, k):
    """Every score in float64, rounded once; the best chunk of each document."""
    best: dict[str, float] = {}
    for doc_id, row in zip(corpus.doc_ids, corpus.vectors[:].astype(np.float64), strict=True):
        value = float(np.float32((row * query.astype(np.float64)).sum()))
        best[doc_id] = max(best.get(doc_id, -np.inf), value)
    ranked = sorted(((score, doc_id) for doc_id, score in best.items()), reverse=True)
    return [(doc_id, score) for score, doc_id in ranked[:k]]


def found(index, queries, k):
    scores, documents = index.search(queries, k)
    return [
        [(index.doc_ids[number], float(score)) for number, score in zip(*row, strict=True)]
        for row in zip(documents, scores, strict=True)
    ]


@given(data=st.data())
def test_search_equals_brute_force_with_ties_and_chunks(data):
    seed = data.draw(st.integers(0, 10**6))
    rows, dimensions = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 5))
    k, block = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70))
    levels = data.draw(st.sampled_from([1, 2, 4096]))  # few: many ties; powers of 2: exact sums
    generator = np.random.default_rng(seed)

    def draw(count):
        values = generator.normal(size=(count, dimensions))
        return (np.round(values * levels) / levels).astype(np.float32)

    ids = [str(number) for number in generator.permutation(rows)]
    if data.draw(st.booleans()):
        ids = [ids[number] for number in generator.integers(0, rows, rows)]  # several chunks each
    vectors = draw(rows)
    corpus = embeddings(ids, vectors)
    queries = draw(data.draw(st.integers(1, 4)))
    result = found(Index(corpus, block=block), queries, k)
    assert [brute_force(corpus, query, k) for query in queries] == result


def test_equal_documents_tie_wherever_they_stand():
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(3001, 47)).astype(np.float32)
    copies = [0, 7, 1000, 1023, 2047, 2999, 3000]
    vectors[copies] = vectors[0]
    ids = [f"{number:04}" for number in range(3001)]
    index = Index(embeddings(ids, vectors))
    queries = np.concatenate([vectors[:1], generator.normal(size=(8, 47))]).astype(np.float32)
    expected = sorted((ids[number] for number in copies), reverse=True)
    assert expected == [doc_id for doc_id, _ in found(index, queries, 7)[0]]
    assert expected[:3] == [doc_id for doc_id, _ in found(index, queries[:1], 3)[0]]


def test_no_queries_give_an_empty_run_and_a_message(tmp_path, capsys):
    queries = write(tmp_path / "q", [])
    assert [] == run_of(write(tmp_path / "c", [GOOD]), queries)
    assert f"structkit: {queries} holds no queries; the run is empty\n" == capsys.readouterr().err


def test_half_precision_and_chunked_matrices_are_read(tmp_path):
    vectors = np.array([[1, 0], [0, 1], [3, 0]], np.float16)
    path = matrix(tmp_path / "m.npy", vectors, ["a1", "b", "a2"])
    (tmp_path / "m.doc_ids.txt").write_text("a\nb\na\n")
    index = Index(read_embeddings([path]))
    assert [[("a", 3.0), ("b", 2.0)]] == found(index, np.array([[1, 2]], np.float32), 5)


GOOD = {"id": "good", "embedding": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"id": "x"}, 'field "embedding" is missing'),
        ({"id": "x", "embedding": "1 2"}, 'field "embedding" is not a list of numbers'),
        ({"id": "x", "embedding": [1.0]}, 'field "embedding" has 1 dimensions, not 2'),
        ({"id": "x", "embedding": []}, "is not a list of numbers"),
        ({"id": "x", "embedding": [1, None]}, "is not a list of numbers"),
        ({"id": "x", "embedding": [1, 1e39]}, "too large for float32"),
        ({"id": "x", "embedding": [1, 10**400]}, "not JSON"),
        ({"id": "x", "embedding": [1, True]}, "is not a list of numbers"),
        ({"id": "x", "embedding": [1, "1"]}, "is not a list of numbers"),
        ({"id": "good", "embedding": [1, 2]}, 'id "good" is repeated'),
        ({"id": "x", "doc_id": None, "embedding": [1, 2]}, 'field "doc_id" is a JSON null'),
        ({"id": "x", "embedding": [1, np.nan]}, "not JSON"),
    ],
)
def test_a_bad_corpus_embedding_is_refused_with_its_place(tmp_path, record, problem):
    path = write(tmp_path / "corpus.jsonl", [GOOD, record])
    with pytest.raises(UserError) as error:
        run_of(path, write(tmp_path / "q", [GOOD]))
    assert str(error.value).startswith(f"{path}:2: ")
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("vectors", "ids", "expected"),
    [
        (np.ones((2, 2)), ["a"], "m.ids.txt: holds 1 ids for 2 embeddings"),
        (np.ones((2, 2)), ["a", "a"], 'm.ids.txt:2: id "a" is repeated'),
        (np.ones((2, 2), int), ["a", "b"], r"m.npy: holds int64 \(2, 2\), not floats"),
        (np.ones((2, 3)), ["a", "b"], r"meta.json: says \(3, 3\), but the matrix is \(2, 3\)"),
        (np.ones((2, 2)), None, "m.ids.txt: cannot be read: No such file"),
        (None, None, "m.npy: cannot be read: No such"),
    ],
)
def test_a_bad_matrix_is_refused(tmp_path, vectors, ids, expected):
    if vectors is not None:
        matrix(tmp_path / "m.npy", vectors, ids or "ab")
    if "meta" in expected:
        (tmp_path / "m.meta.json").write_text('{"count": 3, "dim": 3}')
    if ids is None:
        (tmp_path / "m.ids.txt").unlink(missing_ok=True)
    with pytest.raises(UserError, match=expected):
        read_embeddings([str(tmp_path / "m.npy")])


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.trec", "r.trec.gz"])
def test_a_written_run_is_read_back_with_the_same_scores(tmp_path, name):
    run = {"q1": {"d1": 0.12345678912345678, "d2": 1e-9}, "q2": {"d2": -3.0}}
    records = [
        {"query_id": query_id, "doc_id": doc_id, "score": score, "rank": rank}
        for query_id, documents in run.items()
        for rank, (doc_id, score) in enumerate(documents.items(), 1)
    ]
    path = str(tmp_path / name)
    RunOutput(output=path, format="trec" if "trec" in name else "jsonl").write(records)
    assert run == read_run(path)


def test_offline_asks_no_hub(run, tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "embedding": [1]}\n')
    flags = ("-m", "owner/none", "--query", "tea", "--offline")
    done = run("search", "corpus.jsonl", *flags, env={"HF_ENDPOINT": "http://127.0.0.1:1"})
    assert 1 == done.returncode and b"asking the model hub" not in done.stderr
    assert 1 == done.stderr.count(b"\n"), done.stderr


TEXTS = [{"id": name, "text": text} for name, text in (("tea", "hot tea"), ("ice", "cold ice"))]


def test_a_corpus_of_texts_is_cut_as_its_queries_are(tmp_path):
    """Encoded by the search itself, texts rank as those that were encoded before."""
    corpus, given = write(tmp_path / "texts.jsonl", TEXTS), {"model": "builtin", "dimensions": 64}
    queries = write(tmp_path / "queries.jsonl", [{"id": "q", "text": "a hot drink"}])
    embeddings = write(tmp_path / "cut.jsonl", encode(TEXTS, **given))
    assert 64 == len(json.loads(Path(embeddings).read_text().splitlines()[0])["embedding"])
    assert run_of(embeddings, queries, **given) == run_of(corpus, queries, **given)
    both = {**given, "method": "hybrid"}
    assert run_of(embeddings, queries, **both, texts=[corpus]) == run_of(corpus, queries, **both)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rescore": ["floats.npy"]}, "--rescore needs codes, and CORPUS holds texts; name the"),
        ({"backend": "codes"}, "texts.jsonl: holds floats, not codes"),
        ({"filter": ["text=x"]}, "texts.jsonl: no row of the corpus passes --filter text=x"),
        ({"dimensions": 999}, "--dimensions 999: the model gives 256; use at most 256"),
    ],
)
def test_what_a_corpus_of_texts_cannot_have_names_its_file(tmp_path, options, problem):
    corpus = write(tmp_path / "texts.jsonl", TEXTS)
    with pytest.raises(UserError) as caught:
        run_of(corpus, corpus, model="builtin", **options)
    assert problem in str(caught.value) and "/structkit-" not in str(caught.value)
