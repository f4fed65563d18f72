"""Search over files beyond the plain case: indexes of faiss, saved ones, filters, several files."""

import faulthandler
import json
import sys
from pathlib import Path

import faiss
import numpy as np
import pytest
from structkit_plugins.backends import approximate
from structkit_plugins.backends.approximate import read_index

from structkit import search
from structkit.errors import UserError
from structkit.searching.options import SearchOptions
from tests.searching.index_runs import SIZE, K, found, grouped, matrix, pairs, write, write_queries
from tests.tolerances import bound, rounding

WRONG = ("0", "-1", "nan", "inf", "x", "", "1e30", "0.5", "1 2", "3,", "2.")


@pytest.fixture
def vectors():
    return grouped()


@pytest.fixture
def queries(tmp_path, vectors):
    return write_queries(tmp_path, vectors)


@pytest.fixture
def corpus(tmp_path, vectors):
    """200 documents of three chunks each, every other chunk in Go."""
    rows = [
        {
            "id": f"c{number}",
            "doc_id": f"d{number // 3}",
            "language": ["go", "python"][number % 2],
            "embedding": row.tolist(),
        }
        for number, row in enumerate(vectors)
    ]
    return write(tmp_path / "corpus.jsonl", rows)


def test_an_index_without_clusters_is_refused(corpus, queries):
    with pytest.raises(UserError, match="faiss cannot search this index .*give another --index"):
        found(corpus, queries, index="IVF0,Flat")


@pytest.mark.parametrize(
    "options",
    [
        {"index": "hnsw"},
        {"index": "ivf", "parameters": "nprobe=64"},
        {"index": "int8"},
        {"index": "binary"},
    ],
    ids=str,
)
def test_an_index_that_looks_everywhere_finds_what_exact_search_finds(corpus, queries, options):
    expected = found(corpus, queries)
    assert 20 * K == len(expected)
    result = found(corpus, queries, **options)
    assert pairs(expected) == pairs(result)
    assert [record["rank"] for record in expected] == [record["rank"] for record in result]
    scores, others = ([record["score"] for record in run] for run in (expected, result))
    np.testing.assert_allclose(scores, others, **rounding(SIZE, max(scores)))


def test_parameters_that_no_index_bears_are_wrong_usage():
    for text in ["", "nprobe", "=1", *(f"nprobe={value}" for value in WRONG)]:
        with pytest.raises(UserError, match="--parameters") as caught:
            SearchOptions(parameters=text)
        assert 2 == caught.value.status


def test_a_saved_index_gives_the_same_run(corpus, queries, tmp_path):
    folder = str(tmp_path / "index")
    expected = found(corpus, queries, index="hnsw", save_index=folder, explain=True)
    assert expected == found(folder, queries, explain=True)
    assert ["d0"] * 3 + ["d1"] == (tmp_path / "index/docid").read_text().splitlines()[:4]
    with pytest.raises(UserError, match="index exists; name a new folder"):
        found(corpus, queries, index="hnsw", save_index=folder)
    with pytest.raises(UserError, match="needs the embeddings, not a saved index"):
        found(folder, queries, filter=("language=go",))
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="file/index: cannot be written: Not a directory"):
        found(corpus, queries, index="hnsw", save_index=str(tmp_path / "file" / "index"))
    assert before == sorted(tmp_path.rglob("*"))
    (tmp_path / "none").mkdir()
    for options in ({}, {"index": "hnsw"}):  # a missing index is reported before its flags
        with pytest.raises(UserError, match="is a folder without an index; .*--save-") as error:
            found(str(tmp_path / "none"), queries, **options)
        assert 1 == error.value.status


def test_a_saved_index_that_does_not_fit_is_refused(corpus, queries, tmp_path):
    """Spoil each file in turn, search with --explain, and restore it."""
    saved = tmp_path / "index"
    found(corpus, queries, index="hnsw", save_index=str(saved))
    meta = json.loads((saved / "meta.json").read_text())
    ids = (saved / "ids.txt").read_text().splitlines()
    binary = (saved / "index").read_bytes()
    size = binary[:33] + b"\xff" * 8 + binary[41:]
    damaged = "index/index: cannot be read: faiss: "
    spoiled = [
        ("ids.txt", "\n".join(ids[:-1]), "ids.txt: holds 599 ids for 600"),
        ("ids.txt", "\n".join([*ids[:-1], ids[0]]), 'ids.txt:600: id "c0" is repeated'),
        ("docid", "\n".join(ids[:-1]), "docid: holds 599 ids for 600"),
        ("meta.json", "[1]", "meta.json: is not what structkit writes"),
        ("meta.json", "{", "meta.json: cannot be read: "),
        ("meta.json", json.dumps({**meta, "count": 7}), r"meta.json: says \(7, 16\), but the mat"),
        (
            "meta.json",
            json.dumps({**meta, "model_sha256": 3}),
            "meta.json: is not what structkit writes",
        ),
        ("fields.jsonl", "{}\n", "fields.jsonl: holds 1 records for 600"),
        ("fields.jsonl", "3\n" * 600, "fields.jsonl: holds 600 records for 600"),
        *(("index", content, damaged) for content in (binary[: len(binary) // 2], b"", size)),
    ]
    for name, content, expected in spoiled:
        before = (saved / name).read_bytes()
        (saved / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(UserError, match=expected) as caught:
            found(str(saved), queries, explain=True)
        assert "with --save-index" in caught.value.remedy or "its own id" in str(caught.value)
        (saved / name).write_bytes(before)
    for name in ("index", "docid", "ids.txt", "fields.jsonl"):
        (saved / name).rename(saved / "away")
        expected = f"folder without an index|{name}: cannot be read: No such file"
        with pytest.raises(UserError, match=expected):
            found(str(saved), queries, explain=True)
        (saved / "away").rename(saved / name)
    assert 20 * K == len(found(str(saved), queries, explain=True))


def test_a_saved_index_is_mapped(corpus, queries, tmp_path):
    folder = tmp_path / "index"
    expected = found(corpus, queries, index="int8", save_index=str(folder))
    rows, _ = read_index(folder, SearchOptions())
    assert f"{folder}/index" in Path("/proc/self/maps").read_text()  # not copied into memory
    assert 600 == rows.index.ntotal
    assert expected == found(str(folder), queries)


def test_a_saved_index_knows_its_model_and_dimensions(queries, vectors, tmp_path):
    ids, folder = [f"d{n}" for n in range(600)], str(tmp_path / "index")
    corpus = matrix(tmp_path / "m.npy", vectors, ids, model_sha256="one")
    found(corpus, queries, index="hnsw", save_index=folder)
    other = matrix(tmp_path / "q.npy", vectors, ids, model_sha256="two")
    with pytest.raises(UserError, match="q.npy: was encoded with another model than the corpus"):
        found(folder, other)
    narrow = matrix(tmp_path / "n.npy", vectors[:, :3], ids)
    with pytest.raises(UserError, match="n.npy: gives 3 dimensions, and the corpus has 16"):
        found(folder, narrow)
    records = write(tmp_path / "n.jsonl", [{"id": "q", "embedding": [1.0, 2.0]}])
    with pytest.raises(UserError, match=r'n.jsonl:1: field "embedding" has 2 dimensions, not 16'):
        found(folder, records)


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_filters_leave_other_rows_out(corpus, queries, index):
    options = {"index": index, "explain": True}
    result = found(corpus, queries, filter=("language=go",), **options)
    assert 20 * K == len(result)
    assert {"go"} == {record["best"]["language"] for record in result}
    # a query is twice a chunk: that chunk is best, unless its language is left out
    best = {record["query_id"]: record["best"] for record in result if record["rank"] == 1}
    assert {"id": "c0", "language": "go"} == best["q0"]
    assert all("best" not in record for record in found(corpus, queries))
    with pytest.raises(UserError, match="no row of the corpus passes --filter language=go langua"):
        found(corpus, queries, filter=("language=go", "language=python"), **options)


def test_several_matrices_are_one_corpus(corpus, queries, vectors, tmp_path):
    files = []
    for part, rows in enumerate((slice(0, 301), slice(301, 302), slice(302, 600))):
        ids = [f"c{number}" for number in range(600)[rows]]
        files.append(matrix(tmp_path / f"m{part}.npy", vectors[rows], ids))
        docs = "".join(f"d{number // 3}\n" for number in range(600)[rows])
        (tmp_path / f"m{part}.doc_ids.txt").write_text(docs)
    assert found(corpus, queries) == found(files, queries)
    assert found(corpus, queries, index="hnsw") == found(files, queries, index="hnsw")
    (tmp_path / "m2.ids.txt").write_text("".join(f"c{number}\n" for number in range(298)))
    with pytest.raises(UserError, match='m2.npy: id "c0" is repeated'):
        found(files, queries)


def test_queries_may_be_a_matrix_of_the_same_model(corpus, queries, vectors, tmp_path, capsys):
    ids = [f"q{n}" for n in range(0, 600, 30)]
    mapped = matrix(tmp_path / "q.npy", vectors[::30] * 2, ids, model_sha256="one")
    assert found(corpus, queries) == found(corpus, mapped)
    assert "" == capsys.readouterr().err
    other = matrix(tmp_path / "o.npy", vectors, list(map(str, range(600))), model_sha256="two")
    with pytest.raises(UserError, match="q.npy: was encoded with another model than the corpus"):
        found(other, mapped)
    narrow = matrix(tmp_path / "n.npy", vectors[:, :3], list(map(str, range(600))))
    with pytest.raises(UserError, match=r"n.npy: has 3 dimensions, but .*o.npy has 16"):
        found([other, narrow], queries)


def test_of_many_rows_ivf_looks_at_codes_first(tmp_path):
    draw = np.random.default_rng(0)
    centers = draw.normal(size=(200, SIZE))
    rows = np.repeat(centers, 60, axis=0) + draw.normal(scale=0.3, size=(12_000, SIZE))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    corpus = matrix(tmp_path / "c.npy", vectors, [f"d{number}" for number in range(12_000)])
    queries = matrix(tmp_path / "q.npy", vectors[::100], [f"q{number}" for number in range(120)])
    result = found(corpus, queries, index="ivf", save_index=str(tmp_path / "index"))
    assert result == found(str(tmp_path / "index"), queries)
    exact = found(corpus, queries)
    assert len(set(pairs(exact)) & set(pairs(result))) > 0.98 * len(exact)
    scores = {pair: record["score"] for pair, record in zip(pairs(exact), exact, strict=True)}
    for pair, record in zip(pairs(result), result, strict=True):
        # the score is the vectors' own, not that of their codes
        score = pytest.approx(record["score"], abs=bound(SIZE))
        assert scores.get(pair, record["score"]) == score


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivf"])
def test_more_than_there_is_gives_all_that_there_is(corpus, queries, index, tmp_path):
    first = tmp_path / "few.jsonl"
    first.write_text("".join(Path(corpus).read_text().splitlines(keepends=True)[:6]))
    options = {"parameters": "nprobe=64"} if index == "ivf" else {}
    run = found(str(first), queries, 1000, index=index, **options)
    assert 20 * 2 == len(run)  # six chunks of two documents
    assert {"d0", "d1"} == {record["doc_id"] for record in run}
    with pytest.raises(UserError, match=r"e.jsonl: the corpus is empty; embed documents"):
        found(write(tmp_path / "e.jsonl", []), queries, index=index)


def test_fields_stand_beside_a_matrix(vectors, queries, tmp_path):
    path = matrix(tmp_path / "m.npy", vectors, [str(number) for number in range(600)])
    with pytest.raises(UserError, match="its fields are none: structkit encode"):
        found(path, queries, filter=("year=1999",))
    lines = "".join(f'{{"year":{1999 + number % 2}}}\n' for number in range(600))
    (tmp_path / "m.fields.jsonl").write_text(lines)
    result = found(path, queries, filter=("year=2000",))
    assert 20 * K == len(result)
    assert all(int(record["doc_id"]) % 2 for record in result)
    (tmp_path / "m.fields.jsonl").write_text(lines + "{}\n")
    with pytest.raises(UserError, match="holds 601 records for 600 embeddings"):
        found(path, queries, explain=True)


@pytest.mark.parametrize(("metric", "similarity"), [("L2", "euclidean"), ("L1", "manhattan")])
def test_a_folder_with_a_distance_is_ranked_from_the_smallest(tmp_path, metric, similarity):
    rows = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    index = faiss.IndexFlat(8, getattr(faiss, f"METRIC_{metric}"))
    index.add(rows)
    (tmp_path / "folder").mkdir()
    faiss.write_index(index, str(tmp_path / "folder/index"))
    (tmp_path / "folder/docid").write_text("".join(f"{n}\n" for n in range(300)))
    records = [{"id": str(n), "embedding": row.tolist()} for n, row in enumerate(rows)]
    corpus = write(tmp_path / "corpus.jsonl", records)
    exact = list(search(corpus, queries=corpus, k=5, similarity=similarity))
    for given in ({}, {"similarity": similarity}):
        found = list(search(str(tmp_path / "folder"), queries=corpus, k=5, **given))
        assert [each["doc_id"] for each in exact] == [each["doc_id"] for each in found]
        scores = [pytest.approx(each["score"], abs=2e-3) for each in exact]
        assert scores == [each["score"] for each in found]


@pytest.mark.parametrize("index", ["PCA8,Flat", "PCAR8,Flat", "RR8,Flat", "Pad12,Flat"])
def test_a_rotation_changes_no_ranking(tmp_path, index):
    rows = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32) + 3  # with a mean
    path = tmp_path / "v.npy"
    np.save(path, rows)
    (tmp_path / "v.ids.txt").write_text("".join(f"d{number:03}\n" for number in range(len(rows))))
    queries = [{"id": str(n), "embedding": row.tolist()} for n, row in enumerate(rows[:20])]
    runs = [
        [(hit["query_id"], hit["doc_id"], pytest.approx(hit["score"], rel=1e-4)) for hit in run]
        for run in (
            search(str(path), queries=queries, k=10, index=name) for name in ("flat", index)
        )
    ]
    assert runs[0] == [(query, doc, score.expected) for query, doc, score in runs[1]]


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ("PCAW8,Flat", "changes inner products"),
        ("L2norm,Flat", "changes inner products"),
        ("ITQ8,Flat", "changes inner products"),
        ("L2norm,PCA4,IVF2,Flat", "changes inner products"),
        ("IDMap,Flat", "leave IDMap out"),
        ("Flat,IDMap2", "leave IDMap out"),
        *((name, "faiss crashes") for name in ("HNSW0", "HNSW1", "RQ0x0", "PQ4x0", "RR0,Flat")),
        ("IVF1000,RQ0x0", "faiss crashes"),
        ("HNSW0,SQ8", "faiss crashes"),
        *((name, "faiss crashes or does not end") for name in ("NSG0", "NSG1,Flat")),
    ],
)
def test_an_index_that_would_be_wrong_or_crash_is_refused(
    corpus, queries, index, problem, monkeypatch
):
    monkeypatch.setattr(approximate, "MAX_TRIAL_SECONDS", 2)
    faulthandler.disable()  # a child that crashes is no news
    with pytest.raises(UserError, match=problem) as refused:
        list(search(corpus, queries=queries, index=index))
    faulthandler.enable(sys.__stderr__)
    assert refused.value.status == 2
