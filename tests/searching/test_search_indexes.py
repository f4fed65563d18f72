"""Search over files beyond the plain case: faiss indexes, filters, several files, explanations."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from structkit.errors import UserError
from tests.searching.index_runs import SIZE, K, found, matrix, pairs, write
from tests.tolerances import bound, rounding


@pytest.fixture
def vectors() -> np.ndarray:
    generator = np.random.default_rng(0)
    centers = generator.normal(size=(20, SIZE))
    return (centers[np.arange(600) % 20] + 0.3 * generator.normal(size=(600, SIZE))).astype("f4")


@pytest.fixture
def corpus(tmp_path: Path, vectors: np.ndarray) -> str:
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


@pytest.fixture
def queries(tmp_path: Path, vectors: np.ndarray) -> str:
    rows = [{"id": f"q{n}", "embedding": (vectors[n] * 2).tolist()} for n in range(0, 600, 30)]
    return write(tmp_path / "queries.jsonl", rows)


@pytest.mark.parametrize(
    "options",
    [
        {"index": "hnsw"},
        {"index": "ivf", "parameters": "nprobe=64"},
        {"index": "int8"},
        {"index": "binary"},
        {"index": "L2norm,Flat", "similarity": "cosine"},
    ],
    ids=str,
)
def test_an_index_that_looks_everywhere_finds_what_exact_search_finds(
    corpus: str, queries: str, options: dict[str, str]
) -> None:
    expected = found(corpus, queries, similarity=options.get("similarity", "dot"))
    assert 20 * K == len(expected)
    result = found(corpus, queries, **options)
    assert pairs(expected) == pairs(result)
    assert [record["rank"] for record in expected] == [record["rank"] for record in result]
    scores, others = ([record["score"] for record in run] for run in (expected, result))
    np.testing.assert_allclose(scores, others, **rounding(SIZE, max(scores)))


def test_a_saved_index_gives_the_same_run(corpus: str, queries: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "index")
    expected = found(corpus, queries, index="hnsw", save_index=folder, explain=True)
    assert expected == found(folder, queries, explain=True)
    assert (tmp_path / "index" / "docid").read_text().splitlines()[:4] == ["d0"] * 3 + ["d1"]
    with pytest.raises(UserError, match="index exists; name a new folder"):
        found(corpus, queries, index="hnsw", save_index=folder)
    with pytest.raises(UserError, match="was built for --similarity dot"):
        found(folder, queries, similarity="cosine")
    with pytest.raises(UserError, match="needs the embeddings, not a saved index"):
        found(folder, queries, filter=("language=go",))


def test_a_folder_without_an_index_is_told_before_its_flags(queries: str, tmp_path: Path) -> None:
    for options in ({}, {"index": "hnsw"}):
        with pytest.raises(UserError, match="is a folder without an index; .*--save-") as error:
            found(str(tmp_path), queries, **options)
        assert 1 == error.value.status


def test_an_index_that_cannot_be_saved_leaves_nothing(
    corpus: str, queries: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="file/index: cannot be written: Not a directory"):
        found(corpus, queries, index="hnsw", save_index=str(tmp_path / "file" / "index"))
    assert before == sorted(tmp_path.rglob("*"))


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_filters_leave_other_rows_out(corpus: str, queries: str, index: str) -> None:
    options = {"index": index, "similarity": "cosine", "explain": True}
    result = found(corpus, queries, filter=("language=go",), **options)
    assert 20 * K == len(result)
    assert {"go"} == {record["best"]["language"] for record in result}
    # a query is twice a chunk: that chunk is best, unless its language is left out
    best = {record["query_id"]: record["best"]["id"] for record in result if record["rank"] == 1}
    assert "c0" == best["q0"]


def test_a_hit_names_the_row_that_it_was_found_by(corpus: str, queries: str) -> None:
    result = found(corpus, queries, similarity="cosine", explain=True)
    best = {record["query_id"]: record["best"] for record in result if record["rank"] == 1}
    assert {"id": "c30", "language": "go"} == best["q30"]
    assert all("best" not in record for record in found(corpus, queries))


def test_cosine_is_the_inner_product_of_unit_vectors(corpus: str, queries: str) -> None:
    result = found(corpus, queries, similarity="cosine")
    first = next(record for record in result if record["rank"] == 1)
    assert ("q0", "d0") == (first["query_id"], first["doc_id"])
    assert 1.0 == pytest.approx(first["score"], abs=bound(SIZE))
    approximate = found(corpus, queries, similarity="cosine", index="hnsw")
    assert pairs(result) == pairs(approximate)


def test_several_matrices_are_one_corpus(
    corpus: str, queries: str, vectors: np.ndarray, tmp_path: Path
) -> None:
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


def test_queries_may_be_a_matrix_of_the_same_model(
    corpus: str,
    queries: str,
    vectors: np.ndarray,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ids = [f"q{n}" for n in range(0, 600, 30)]
    mapped = matrix(tmp_path / "q.npy", vectors[::30] * 2, ids, model_sha256="one")
    assert found(corpus, queries) == found(corpus, mapped)
    assert "" == capsys.readouterr().err
    other = matrix(tmp_path / "o.npy", vectors, list(map(str, range(600))), model_sha256="two")
    with pytest.raises(UserError, match="q.npy: was encoded with another model than the corpus"):
        found(other, mapped)
    narrow = matrix(tmp_path / "n.npy", vectors[:, :3], list(map(str, range(600))))
    with pytest.raises(UserError, match="gives 3 dimensions, and the corpus has 16"):
        found(other, narrow)
    with pytest.raises(UserError, match=r"n.npy: has 3 dimensions, but .*o.npy has 16"):
        found([other, narrow], queries)


def test_a_saved_index_knows_its_model_and_dimensions(
    queries: str, vectors: np.ndarray, tmp_path: Path
) -> None:
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


@pytest.mark.parametrize("saved", [True, False])
def test_of_many_rows_ivf_looks_at_codes_first(
    saved: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = np.random.default_rng(0)
    centers = draw.normal(size=(200, SIZE))
    rows = np.repeat(centers, 60, axis=0) + draw.normal(scale=0.3, size=(12_000, SIZE))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    corpus = matrix(tmp_path / "c.npy", vectors, [f"d{number}" for number in range(12_000)])
    queries = matrix(tmp_path / "q.npy", vectors[::100], [f"q{number}" for number in range(120)])
    if saved:
        folder = str(tmp_path / "index")
        found(corpus, queries, index="ivf", save_index=folder)
        result = found(folder, queries)
    else:
        result = found(corpus, queries, index="ivf")
    exact = found(corpus, queries)
    assert len(set(pairs(exact)) & set(pairs(result))) > 0.98 * len(exact)
    scores = {pair: record["score"] for pair, record in zip(pairs(exact), exact, strict=True)}
    for pair, record in zip(pairs(result), result, strict=True):
        # the score is the vectors' own, not that of their codes
        score = pytest.approx(record["score"], abs=bound(SIZE))
        assert scores.get(pair, record["score"]) == score


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivf"])
def test_more_than_there_is_gives_all_that_there_is(
    corpus: str, queries: str, index: str, tmp_path: Path
) -> None:
    first = tmp_path / "few.jsonl"
    first.write_text("".join(Path(corpus).read_text().splitlines(keepends=True)[:6]))
    options = {"parameters": "nprobe=64"} if index == "ivf" else {}
    run = found(str(first), queries, 1000, index=index, **options)
    assert 20 * 2 == len(run)  # six chunks of two documents
    assert {"d0", "d1"} == {record["doc_id"] for record in run}


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_a_corpus_without_rows_is_refused(queries: str, index: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"e.jsonl: the corpus is empty; embed documents"):
        found(write(tmp_path / "e.jsonl", []), queries, index=index)
    empty = matrix(tmp_path / "m.npy", np.ones((0, 16), "f4"), [])
    with pytest.raises(UserError, match=r"m.npy: holds float32 \(0, 16\), not floats"):
        found(empty, queries, index=index)


def test_fields_stand_beside_a_matrix(vectors: np.ndarray, queries: str, tmp_path: Path) -> None:
    path = matrix(tmp_path / "m.npy", vectors, [str(number) for number in range(600)])
    with pytest.raises(UserError, match="no row of the corpus has the field year"):
        found(path, queries, filter=("year=1999",))
    lines = "".join(f'{{"year":{1999 + number % 2}}}\n' for number in range(600))
    (tmp_path / "m.fields.jsonl").write_text(lines)
    result = found(path, queries, filter=("year=2000",))
    assert 20 * K == len(result)
    assert all(int(record["doc_id"]) % 2 for record in result)
    with pytest.raises(UserError, match="no row of the corpus passes --filter year=3"):
        found(path, queries, filter=("year=3",))
    (tmp_path / "m.fields.jsonl").write_text(lines + "{}\n")
    with pytest.raises(UserError, match="holds 601 records for 600 embeddings"):
        found(path, queries, explain=True)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--index", "nonsense"], "--index nonsense is not an index that faiss knows"),
        (
            ["--index", "hnsw", "--parameters", "nprobe=3"],
            "--parameters nprobe: this index has no such parameter",
        ),
        (["--parameters", "nprobe=3"], "--parameters goes with an approximate index"),
        (["--filter", "language"], "--filter language names no value; write it as FIELD=VALUE"),
        (
            ["--backend", "oracle"],
            "no backend 'oracle'; there are: approximate, codes, exact, pgvector",
        ),
        (["--method", "bm25", "--index", "hnsw"], "--method bm25 takes no --index"),
    ],
)
def test_wrong_usage_is_one_line(
    run: object, corpus: str, queries: str, flags: list[str], problem: str
) -> None:
    done: subprocess.CompletedProcess[bytes] = run(  # type: ignore[operator]
        "search", corpus, "--queries", queries, *flags
    )
    assert (2, b"") == (done.returncode, done.stdout)
    assert problem in done.stderr.decode()
    assert 1 == len(done.stderr.splitlines())


def test_few_rows_are_told_in_a_line_of_our_own(
    corpus: str, queries: str, capfd: pytest.CaptureFixture[str]
) -> None:
    found(corpus, queries, index="IVF50,PQ4x4")
    lines = capfd.readouterr().err.splitlines()
    assert 1 == len(lines)
    assert lines[0].startswith("structkit: few rows to train IVF50,PQ4x4 on; ")
    assert "WARNING" not in lines[0]  # the words of faiss


def test_an_index_that_faiss_does_not_know(corpus: str, queries: str) -> None:
    with pytest.raises(UserError, match="--index nope is not an index that faiss knows") as caught:
        found(corpus, queries, index="nope")
    assert 2 == caught.value.status
    assert "\n" not in str(caught.value)
