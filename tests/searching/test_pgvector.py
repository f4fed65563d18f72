"""Search in a real PostgreSQL with pgvector, started in a temporary folder: the same run as files.

pgserver is the PyPI package that carries both, for Python up to 3.12.
"""

import json
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from structkit import registry
from structkit.commands.search import search
from structkit.errors import UserError
from structkit.records.jsonl import Record, Records
from structkit.searching.hits import SearchOptions
from tests.tolerances import rounding

pgserver = pytest.importorskip("pgserver")

K, SIZE = 4, 8


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    logging.getLogger("pgserver").setLevel(logging.WARNING)
    # not in pytest's folder: another run of pytest closes that for PostgreSQL's own user
    with tempfile.TemporaryDirectory(prefix="structkit-postgres-") as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """100 documents of three chunks each; the last quarter of them in Go."""
    vectors = np.random.default_rng(0).normal(size=(300, SIZE)).round(3)
    rows = [
        {
            "id": f"c{number}",
            "doc_id": f"d{number // 3}",
            "language": "go" if number >= 225 else "python",
            "tags": ["all", f"t{number % 2}"],
            "year": 2000 + number % 5,
            "xpath": f"/html/body/p[{number % 3 + 1}]",
            "lines": [number, number + 3],
            "embedding": row.tolist(),
        }
        for number, row in enumerate(vectors)
    ]
    return write(tmp_path / "corpus.jsonl", rows)


@pytest.fixture
def queries(tmp_path: Path) -> str:
    vectors = np.random.default_rng(1).normal(size=(130, SIZE))
    rows = [{"id": f"q{n}", "embedding": row.tolist()} for n, row in enumerate(vectors)]
    return write(tmp_path / "queries.jsonl", rows)


def write(path: Path, records: list[Record]) -> str:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def in_files(corpus: str, queries: str, **options: object) -> list[Record]:
    given = SearchOptions(**options)  # type: ignore[arg-type]
    return list(search([corpus], Records.read([queries]), k=K, options=given))


def in_table(corpus: str, queries: str, url: str, table: str, **options: object) -> list[Record]:
    given = SearchOptions(database_url=url, table=table, **options)  # type: ignore[arg-type]
    records = Records.read([queries])
    return list(search([corpus], records, k=K, backend="pgvector", options=given))


def assert_equal(expected: list[Record], result: list[Record]) -> None:
    names = ("query_id", "doc_id", "rank", "best")
    assert [[record.get(name) for name in names] for record in expected] == [
        [record.get(name) for name in names] for record in result
    ]
    scores, others = ([record["score"] for record in run] for run in (expected, result))
    np.testing.assert_allclose(scores, others, **rounding(SIZE, np.abs(scores).max()))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"explain": True},
        {"similarity": "cosine"},
        {"filters": ("language=go",)},
        {"filters": ("tags=t1", "year=2003"), "explain": True},
    ],
    ids=str,
)
def test_an_exact_scan_gives_the_run_of_files(
    corpus: str, queries: str, url: str, options: dict[str, object]
) -> None:
    expected = in_files(corpus, queries, **options)
    assert 130 * K == len(expected)
    table = f"exact_{options.get('similarity', 'dot')}"
    assert_equal(expected, in_table(corpus, queries, url, table, **options))


def test_hnsw_finds_nearly_all_and_says_so(
    corpus: str, queries: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = in_table(corpus, queries, url, "hnsw", index="hnsw", recall_sample=120)
    expected = {(record["query_id"], record["doc_id"]) for record in in_files(corpus, queries)}
    found = {(record["query_id"], record["doc_id"]) for record in result}
    assert len(expected & found) / len(expected) > 0.95
    told = capsys.readouterr().err.split()
    assert ["structkit:", "recall@4"] == told[:2]
    assert 0.95 < float(told[2]) <= 1
    assert ["120", "queries"] == told[-2:]


def test_an_index_is_built_where_workers_can_share_no_memory(
    corpus: str, queries: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = in_table(corpus, queries, url, "crowded")
    shared = os.statvfs("/dev/shm")
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE crowded SET (parallel_workers = 2)")
    backend = registry.find("backend", "pgvector").imported()
    more = 2 * shared.f_frsize * shared.f_blocks
    monkeypatch.setattr(backend, "MEMORY", more >> 20)
    monkeypatch.setattr(backend, "GRAPH", more // 100)
    assert_equal(expected, in_table(corpus, queries, url, "crowded", index="hnsw"))
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT to_regclass('crowded_hnsw') IS NOT NULL").fetchone()
    assert (True,) == found


def test_a_filter_that_leaves_few_rows_does_not_leave_few_hits(
    corpus: str, queries: str, url: str
) -> None:
    options = {
        "filters": ("language=go", "year=2001")
    }  # 15 of 300 rows: the index alone misses some
    expected = in_files(corpus, queries, **options)
    result = in_table(corpus, queries, url, "few", index="hnsw", **options)
    assert_equal(expected, result)


@pytest.mark.parametrize("filters", [("year=1900",), ("language=go", "venue=x")], ids=str)
def test_a_filter_that_nothing_passes_is_refused_as_with_files(
    corpus: str, queries: str, url: str, filters: tuple[str, ...]
) -> None:
    with pytest.raises(UserError) as expected:
        in_files(corpus, queries, filters=filters)
    with pytest.raises(UserError) as refused:
        in_table(corpus, queries, url, "refused", filters=filters, index="hnsw")
    assert str(expected.value).replace(corpus, "refused") == str(refused.value)
    with psycopg.connect(url) as connection:  # and no time went into an index
        built = connection.execute("SELECT to_regclass('refused_hnsw') IS NOT NULL").fetchone()
    assert (False,) == built


def test_a_corpus_is_loaded_once_and_its_table_is_a_corpus(
    corpus: str, queries: str, url: str, tmp_path: Path
) -> None:
    expected = in_table(corpus, queries, url, "once")
    with psycopg.connect(url) as connection:
        before = connection.execute("SELECT min(xmin::text) FROM once").fetchone()
        assert [(300, 100)] == connection.execute(
            "SELECT rows, documents FROM structkit_tables WHERE name = 'once'"
        ).fetchall()
    assert expected == in_table(corpus, queries, url, "once")
    assert expected == in_table("once", queries, url, "")
    with pytest.raises(UserError, match="the table once was loaded for --similarity dot"):
        in_table("once", queries, url, "", similarity="cosine")
    with psycopg.connect(url) as connection:
        assert before == connection.execute("SELECT min(xmin::text) FROM once").fetchone()
    other = write(tmp_path / "other.jsonl", [{"id": "only", "embedding": [1.0] * 8}])
    with pytest.raises(
        UserError, match="the table once holds another corpus; replace it with --reload"
    ):
        in_table(other, queries, url, "once")
    assert expected == in_table("once", queries, url, "")
    reloaded = in_table(other, queries, url, "once", reload=True)
    assert {"only"} == {record["doc_id"] for record in reloaded}


def test_hostile_names_are_only_names(corpus: str, queries: str, url: str) -> None:
    name = 'x"; DROP TABLE structkit_tables; --'
    expected = in_files(corpus, queries)
    assert_equal(expected, in_table(corpus, queries, url, name))
    hostile = "language='; DROP TABLE structkit_tables; --"
    with pytest.raises(UserError, match="no row of the corpus passes --filter language=';"):
        in_table(corpus, queries, url, name, filters=(hostile,))
    assert_equal(expected, in_table(corpus, queries, url, name))


def test_a_table_of_somebody_else_stays(corpus: str, queries: str, url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE theirs (content text)")
    with pytest.raises(UserError, match="has a table theirs that structkit did not write"):
        in_table(corpus, queries, url, "theirs", reload=True)
    with psycopg.connect(url) as connection:
        assert [] == connection.execute("SELECT * FROM theirs").fetchall()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"database_url": None}, "--backend pgvector needs --database-url"),
        ({"database_url": "postgresql://127.0.0.1:1/x"}, "the database cannot be reached: "),
        ({"index": "ivf"}, "takes --index flat or hnsw"),
    ],
    ids=str,
)
def test_wrong_usage(
    corpus: str, queries: str, url: str, options: dict[str, object], problem: str
) -> None:
    given = SearchOptions(**{"database_url": url, **options})  # type: ignore[arg-type]
    with pytest.raises(UserError, match=problem):
        list(search([corpus], Records.read([queries]), backend="pgvector", options=given))


def test_a_missing_corpus(queries: str, url: str) -> None:
    with pytest.raises(UserError, match="there is no file and no loaded table nowhere"):
        in_table("nowhere", queries, url, "")


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_more_hits_are_asked_for_than_there_are_documents(
    corpus: str, queries: str, url: str, index: str
) -> None:
    given = SearchOptions(database_url=url, table="all_of_it", index=index)
    records = Records.read([queries])
    result = list(search([corpus], records, k=150, backend="pgvector", options=given))
    documents = [record["doc_id"] for record in result if record["query_id"] == "q7"]
    assert {f"d{number}" for number in range(100)} == set(documents)
    assert 130 * 100 == len(result)


def test_queries_of_other_dimensions_or_of_another_model(
    corpus: str, queries: str, url: str, tmp_path: Path
) -> None:
    short = write(tmp_path / "short.jsonl", [{"id": "q", "embedding": [1.0] * 7}])
    with pytest.raises(UserError, match=r"short.jsonl:1: .*7"):
        in_table(corpus, short, url, "eight")
    for name, count in (("corpus", 5), ("queries", 2)):
        np.save(tmp_path / f"{name}.npy", np.eye(count, 8, dtype=np.float32))
        ids = "".join(f"{name}{number}\n" for number in range(count))
        (tmp_path / f"{name}.ids.txt").write_text(ids)
        meta = {"dim": 8, "count": count, "model_sha256": name}
        (tmp_path / f"{name}.meta.json").write_text(json.dumps(meta))
    files = [str(tmp_path / f"{name}.npy") for name in ("corpus", "queries")]
    for known in (files[0], "of_a_model"):  # the table remembers whose embeddings it holds
        with pytest.raises(UserError, match="queries.npy: was encoded with another model than"):
            in_table(known, files[1], url, "of_a_model")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:secret@[::",
        "postgresql://u:secret%zz@127.0.0.1/x",
        "postgres:/u:secret@127.0.0.1/x",
        "secret",
        "host=127.0.0.1 port=1 password='secret",
        "postgresql://u:a@secret@127.0.0.1:1/x",
        "postgresql://u:5secret@127.0.0.1:1:secret/x",
        "postgresql://127.0.0.1:secret/x",
        "postgresql://u@127.0.0.1:1/x?secret=1",
        "postgresql://127.0.0.1:1/x?connect_timeout=secret",
    ],
)
def test_no_message_holds_a_secret(corpus: str, queries: str, address: str) -> None:
    options = SearchOptions(database_url=address)
    with pytest.raises(UserError, match="the database cannot be reached; check --data") as caught:
        list(search([corpus], Records.read([queries]), backend="pgvector", options=options))
    assert "secret" not in str(caught.value)


def test_what_holds_no_secret_is_told(corpus: str, queries: str) -> None:
    options = SearchOptions(database_url="postgresql://u:secret@127.0.0.1:1/x")
    with pytest.raises(UserError, match="cannot be reached: .*Connection refused; check"):
        list(search([corpus], Records.read([queries]), backend="pgvector", options=options))
