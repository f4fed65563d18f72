"""Search over rows with maxsim: a plain twin, the peer's scores, candidates, files of rows."""

import json

import numpy as np
import pytest
import torch
from sentence_transformers.util import maxsim as theirs

from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import VectorFiles
from structkit.errors import UserError
from structkit.ranking.reranking import Candidate, Query, Weights
from structkit.searching.index import Index
from tests.searching.index_runs import found, pairs, write

SIZE = 16
EVERY = "k_factor_rf=100"


def texts(count, seed, names):
    """Some texts of one to nine rows of length 1; every third is as the one before."""
    generator = np.random.default_rng(seed)
    centers = generator.normal(size=(12, SIZE))
    made = {}
    for number in range(count):
        size = int(generator.integers(1, 10))
        rows = centers[generator.integers(0, 12, size)] + 0.5 * generator.normal(size=(size, SIZE))
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
        made[f"{names}{number}"] = made[f"{names}{number - 1}"] if number % 3 == 2 else rows
    return made


DOCUMENTS, QUERIES = texts(90, 0, "d"), texts(8, 1, "q")


def written(path, made, kind=None, counts=True):
    """Write the rows of texts as `encode` does, with the ids of texts alone or of rows too."""
    with VectorFiles(str(path), counts=counts, chunks=not counts, quantize=kind) as files:
        for name, rows in made.items():
            files.add([EmbeddingRow(f"{name}#{n}", name) for n in range(len(rows))], rows)
        files.finish({"quantize": kind} if kind else {})
    return str(path)


def records(path, made):
    each = ((name, number, row) for name, rows in made.items() for number, row in enumerate(rows))
    lines = ({"id": f"{a}#{b}", "doc_id": a, "embedding": row.tolist()} for a, b, row in each)
    return write(path, lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    written(folder / "d.npy", DOCUMENTS)
    written(folder / "q.npy", QUERIES)
    records(folder / "q.jsonl", QUERIES)
    return folder


def run(folder, corpus="d.npy", queries="q.jsonl", k=10, **more):
    return found(str(folder / corpus), str(folder / queries), k, similarity="maxsim", **more)


def twin(query, document):
    """The formula, with loops."""
    return sum(max(float(a.astype("f8") @ b.astype("f8")) for b in document) for a in query)


def test_the_ranking_is_that_of_the_formula_and_the_scores_are_the_peers(folder):
    scores = {q: {d: twin(rows, DOCUMENTS[d]) for d in DOCUMENTS} for q, rows in QUERIES.items()}
    expected = []
    for query, of_documents in scores.items():
        rounded = {name: np.float32(score) for name, score in of_documents.items()}
        order = sorted(rounded, key=lambda name: (rounded[name], name), reverse=True)
        expected += [(query, name) for name in order[:10]]
    ranked = run(folder)
    assert expected == pairs(ranked)
    tensors = [[*map(torch.from_numpy, each.values())] for each in (QUERIES, DOCUMENTS)]
    matrix = theirs(*tensors).numpy()
    for row in ranked:
        place = int(row["query_id"][1:]), int(row["doc_id"][1:])
        assert row["score"] == pytest.approx(matrix[place], abs=1e-5)


@pytest.mark.parametrize("block", [1, 7, 8192])
def test_blocks_and_the_order_of_rows_change_no_score(folder, block):
    corpus = read_embeddings([str(folder / "d.npy")])
    order = np.random.default_rng(0).permutation(len(corpus.doc_ids))
    rows = np.concatenate([*QUERIES.values()])
    starts = np.cumsum([0, *map(len, QUERIES.values())])[:-1]
    runs = []
    for each in (corpus, corpus.take(order)):
        index = Index(each, "maxsim", block)
        scores, numbers = index.search(rows, 5, starts)
        runs.append((scores.tolist(), [[index.doc_ids[n] for n in row] for row in numbers]))
    assert runs[0] == runs[1]


def test_rows_may_stand_in_any_file_and_form(folder, tmp_path):
    expected = run(folder)
    half = [dict(list(DOCUMENTS.items())[part]) for part in (slice(40), slice(40, None))]
    records(folder / "d.jsonl", DOCUMENTS)
    written(folder / "ids.npy", DOCUMENTS, counts=False)
    for name, each in zip("ab", half, strict=True):
        written(folder / f"{name}.npy", each)
    for corpus in ("d.jsonl", "ids.npy"):
        assert expected == run(folder, corpus)
    both = [str(folder / "a.npy"), str(folder / "b.npy")]
    assert expected == found(both, str(folder / "q.npy"), 10, similarity="maxsim")
    for kind, least in (("fp16", 0.99), ("int8", 0.95), ("binary", 0.5)):
        written(folder / f"{kind}.npy", DOCUMENTS, kind)
        same = {*pairs(run(folder, f"{kind}.npy"))} & {*pairs(expected)}
        assert len(same) >= least * len(expected), kind
    assert expected == run(folder, "binary.npy", rescore=(str(folder / "d.npy"),), parameters=EVERY)


@pytest.mark.parametrize("index", ["ivf", "hnsw", "int8", "Flat"])
def test_candidates_are_ranked_as_all_are(folder, tmp_path, index):
    """Many of them make the run exact; few have true scores, too."""
    expected = run(folder)
    saved = str(tmp_path / "index")
    assert expected == run(folder, index=index, parameters=EVERY, save_index=saved)
    again = run(folder, saved, rescore=(str(folder / "d.npy"),), parameters=EVERY)
    assert expected == again
    few = run(folder, k=3, index=index, parameters="k_factor_rf=2")
    whole = run(folder, k=90)
    scores = {pair: row["score"] for pair, row in zip(pairs(whole), whole, strict=True)}
    assert [row["score"] for row in few] == [scores[pair] for pair in pairs(few)]
    with pytest.raises(UserError, match="needs the vectors of a saved index; name them with --res"):
        run(folder, saved)
    with pytest.raises(UserError, match="index: is not of these rows; build the index again"):
        written(tmp_path / "other.npy", {name[::-1]: rows for name, rows in DOCUMENTS.items()})
        run(folder, saved, rescore=(str(tmp_path / "other.npy"),))


def test_a_row_explains_a_hit_and_a_query_stays_together(folder, tmp_path):
    corpus = {"a": np.float32([[1, 0], [0, 3]]), "b": np.float32([[2, 0]])}
    written(tmp_path / "d.npy", corpus, counts=False)
    lines = [
        {"id": f"q#{n}", "doc_id": "q", "embedding": row} for n, row in enumerate(([1, 0], [0, 1]))
    ]
    write(tmp_path / "q.jsonl", lines)
    hits = run(tmp_path, explain=True)
    assert [("a", 4, "a#1"), ("b", 2, "b#0")] == [
        (row["doc_id"], row["score"], row["best"]["id"]) for row in hits
    ]
    other = {"id": "r", "embedding": [1, 1]}
    write(tmp_path / "q.jsonl", [lines[0], other, lines[1]])
    with pytest.raises(UserError, match='id "q" is repeated'):
        run(tmp_path)


def test_the_ranker_gives_the_scores_of_the_search(folder):
    flags = {"embeddings": str(folder / "d.npy"), "query_embeddings": str(folder / "q.jsonl")}
    ((ranker, _),) = Weights({"maxsim": 1.0}).ranking(flags).rankers
    hits = [row for row in run(folder) if row["query_id"] == "q1"]
    some = [Candidate(row["doc_id"], 0.0, {}) for row in hits]
    assert [row["score"] for row in hits] == ranker.scores(Query("q1", ""), some)


def test_files_of_rows_belong_together(folder, tmp_path):
    path = written(tmp_path / "d.npy", DOCUMENTS)
    meta = json.loads((tmp_path / "d.meta.json").read_text())
    assert 90 == len((tmp_path / "d.ids.txt").read_text().splitlines())
    (tmp_path / "d.rows.txt").write_text("1\n" * 90)
    with pytest.raises(UserError, match="d.rows.txt: does not divide 4.. embeddings among docum"):
        read_embeddings([path])
    assert meta["files"].keys() == {".npy", ".ids.txt", ".rows.txt"}


def test_a_graph_has_equal_rows_once(tmp_path):
    """Rows that most documents share (of a frequent word) fill no links and hide no others."""
    generator = np.random.default_rng(2)
    shared = generator.normal(size=(1, SIZE)).astype("f4")
    own = generator.normal(size=(400, 3, SIZE)).astype("f4")
    documents = {f"d{n}": np.concatenate([shared, shared, rows]) for n, rows in enumerate(own)}
    queries = {f"q{n}": np.concatenate([rows[:2], shared]) for n, rows in enumerate(own[:20])}
    written(tmp_path / "d.npy", documents)
    records(tmp_path / "q.jsonl", queries)
    expected = run(tmp_path)
    saved = str(tmp_path / "index")
    assert expected == run(tmp_path, index="hnsw", save_index=saved)
    assert expected == run(tmp_path, saved, rescore=(str(tmp_path / "d.npy"),))
