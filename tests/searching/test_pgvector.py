"""Search in a real PostgreSQL with pgvector, started in a temporary folder: the same run as files.

pgserver is the PyPI package that carries both, for Python up to 3.12.
"""

import json
import logging
import os
import tempfile
from pathlib import Path

import numpy as np
import psycopg
import pytest
from structkit_plugins.backends.pgvector import Backend

from structkit.errors import UserError
from structkit.records.jsonl import Records
from structkit.searching.hits import by_embeddings
from structkit.searching.options import SearchOptions
from tests.searching.index_runs import found, matrix, write
from tests.tolerances import rounding

pgserver = pytest.importorskip("pgserver")

K, SIZE = 4, 8


@pytest.fixture(scope="module")
def url():
    logging.getLogger("pgserver").setLevel(logging.WARNING)
    # not in pytest's folder: another run of pytest closes that for PostgreSQL's own user
    with tempfile.TemporaryDirectory(prefix="structkit-postgres-") as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def corpus(tmp_path):
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
def queries(tmp_path):
    vectors = np.random.default_rng(1).normal(size=(130, SIZE))
    rows = [{"id": f"q{n}", "embedding": row.tolist()} for n, row in enumerate(vectors)]
    return write(tmp_path / "queries.jsonl", rows)


def in_files(corpus, queries, **options):
    return found(corpus, queries, K, **options)


def in_table(corpus, queries, url, table, **options):
    """The run of a corpus, whose file is named so that its table has this name."""
    if table:
        named = Path(corpus).with_name(f"{table}{Path(corpus).suffix}")
        named.write_bytes(Path(corpus).read_bytes())
        corpus = str(named)
    return found(corpus, queries, K, backend="pgvector", database_url=url, **options)


def assert_equal(expected, result):
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
        {"filter": ("language=go",)},
        {"filter": ("tags=t1", "year=2003"), "explain": True},
    ],
    ids=str,
)
def test_an_exact_scan_gives_the_run_of_files(corpus, queries, url, options):
    expected = in_files(corpus, queries, **options)
    assert 130 * K == len(expected)
    assert_equal(expected, in_table(corpus, queries, url, "exact", **options))


def test_hnsw_finds_nearly_all(corpus, queries, url):
    result = in_table(corpus, queries, url, "hnsw", index="hnsw")
    expected = {(record["query_id"], record["doc_id"]) for record in in_files(corpus, queries)}
    pairs = {(record["query_id"], record["doc_id"]) for record in result}
    assert len(expected & pairs) / len(expected) > 0.95


def is_built(url, index):
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT to_regclass(%s) IS NOT NULL", [index]).fetchone()[0]


def test_an_index_is_built_where_workers_can_share_no_memory(corpus, queries, url):
    expected = in_table(corpus, queries, url, "crowded")
    shared = os.statvfs("/dev/shm")
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE structkit_crowded SET (parallel_workers = 2)")
    options = SearchOptions(database_url=url, index="hnsw")
    table = Backend().open(["structkit_crowded"], options)
    table.build_index(2 * shared.f_frsize * shared.f_blocks >> 20)
    assert is_built(url, "structkit_crowded_hnsw")
    assert_equal(expected, in_table(corpus, queries, url, "crowded", index="hnsw"))


def test_a_filter_that_leaves_few_rows_does_not_leave_few_hits(corpus, queries, url):
    options = {"filter": ("language=go", "year=2001")}  # of 300 rows 15: an index misses some
    expected = in_files(corpus, queries, **options)
    result = in_table(corpus, queries, url, "few", index="hnsw", **options)
    assert_equal(expected, result)


@pytest.mark.parametrize("filters", [("year=1900",), ("language=go", "venue=x")], ids=str)
def test_a_filter_that_nothing_passes_is_refused_as_with_files(corpus, queries, url, filters):
    with pytest.raises(UserError) as expected:
        in_files(corpus, queries, filter=filters)
    with pytest.raises(UserError) as refused:
        in_table(corpus, queries, url, "refused", filter=filters, index="hnsw")
    assert str(expected.value).replace(corpus, "structkit_refused") == str(refused.value)
    assert not is_built(url, "structkit_refused_hnsw")  # and no time went into an index


def test_a_corpus_is_loaded_once_and_its_table_is_a_corpus(corpus, queries, url, tmp_path, capsys):
    expected = in_table(corpus, queries, url, "once")
    with psycopg.connect(url) as connection:
        before = connection.execute("SELECT min(xmin::text) FROM structkit_once").fetchone()
        told = connection.execute("SELECT obj_description('structkit_once'::regclass)").fetchone()
        assert {"rows": 300, "documents": 100}.items() <= json.loads(told[0]).items()
    assert expected == in_table(corpus, queries, url, "once")
    assert expected == in_table("structkit_once", queries, url, "")
    with psycopg.connect(url) as connection:
        assert before == connection.execute("SELECT min(xmin::text) FROM structkit_once").fetchone()
    other = write(tmp_path / "other.jsonl", [{"id": "only", "embedding": [1.0] * 8}])
    again = in_table(other, queries, url, "once")
    assert {"only"} == {record["doc_id"] for record in again}
    told = "structkit: the table structkit_once held another corpus, and is loaded again\n"
    assert told == capsys.readouterr().err


def test_hostile_names_are_only_names(corpus, queries, url):
    name = 'x"; DROP TABLE structkit_once; --'
    expected = in_table(corpus, queries, url, name)
    with pytest.raises(UserError, match="there is no file and no loaded table x"):
        in_table(name, queries, url, "")
    hostile = "language='; DROP TABLE structkit_once; --"
    with pytest.raises(UserError, match="no row of the corpus passes --filter language=';"):
        in_table(corpus, queries, url, name, filter=(hostile,))
    assert expected == in_table(corpus, queries, url, name)


def test_a_table_of_somebody_else_stays(corpus, queries, url):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE structkit_theirs (content text)")
    with pytest.raises(UserError, match="has a table structkit_theirs that structkit did"):
        in_table(corpus, queries, url, "theirs")
    with psycopg.connect(url) as connection:
        assert [] == connection.execute("SELECT * FROM structkit_theirs").fetchall()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"database_url": None}, "--backend pgvector needs --database-url"),
        ({"database_url": "postgresql://127.0.0.1:1/x"}, "cannot be reached; check --database-url"),
        ({"index": "ivf"}, "--backend pgvector takes no --index ivf; use flat or hnsw"),
        ({"parameters": "nprobe=1"}, "--backend pgvector takes no --parameters"),
        ({"corpus": "nowhere"}, "there is no file and no loaded table nowhere"),
    ],
    ids=str,
)
def test_wrong_usage(corpus, queries, url, options, problem):
    given = {"corpus": corpus, "database_url": url, **options}
    with pytest.raises(UserError, match=problem):
        found(given.pop("corpus"), queries, K, backend="pgvector", **given)


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_more_hits_are_asked_for_than_there_are_documents(corpus, queries, url, index):
    result = found(corpus, queries, 150, backend="pgvector", database_url=url, index=index)
    documents = [record["doc_id"] for record in result if record["query_id"] == "q7"]
    assert {f"d{number}" for number in range(100)} == set(documents)
    assert 130 * 100 == len(result)


def test_queries_of_other_dimensions_or_of_another_model(corpus, queries, url, tmp_path):
    short = write(tmp_path / "short.jsonl", [{"id": "q", "embedding": [1.0] * 7}])
    with pytest.raises(UserError, match=r"short.jsonl:1: .*7"):
        in_table(corpus, short, url, "eight")
    files = [
        matrix(tmp_path / f"{name}.npy", np.eye(2, 8, dtype="f4"), ["1", "2"], model_sha256=name)
        for name in ("corpus", "queries")
    ]
    for known in (files[0], "structkit_corpus"):  # the table remembers whose embeddings it holds
        with pytest.raises(UserError, match="queries.npy: was encoded with another model than"):
            in_table(known, files[1], url, "")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:secret@[::",
        "postgresql://u:secret%zz@127.0.0.1/x",
        "host=127.0.0.1 port=1 password='secret",
    ],
)
def test_no_message_holds_a_secret(corpus, queries, address):
    with pytest.raises(UserError, match="the database cannot be reached; check --data") as caught:
        found(corpus, queries, K, backend="pgvector", database_url=address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"n": 2**64}, "record 'b' has a whole number of more than 64 bits; encode without"),
        ({"n": [-(2**63) - 1]}, "record 'b' has a whole number of more than 64 bits; encode wi"),
        ({"t": "x\0y"}, "record 'b' holds a NUL, which PostgreSQL cannot; encode without the"),
        ({"x\0y": 1}, "record 'b' holds a NUL, which PostgreSQL cannot; encode without the"),
        ({"doc_id": "\0"}, "record 'b' holds a NUL, which PostgreSQL cannot; encode without the"),
        ({"t": "\\\0"}, "record 'b' holds a NUL, which PostgreSQL cannot; encode without the"),
    ],
)
def test_a_row_that_no_table_holds_is_named(url, tmp_path, row, problem):
    rows = [{"id": "a", "embedding": [1.0]}, {"id": "b", "embedding": [1.0], **row}]
    corpus = write(tmp_path / "odd.jsonl", rows)
    with pytest.raises(UserError) as error:
        found(corpus, corpus, K, backend="pgvector", database_url=url)
    assert str(error.value).startswith(f"{corpus}: {problem}")
    good = {"t": "\\u0000 \\\\u0000", "n": 2**64 - 1}
    fine = [rows[0], {"id": "b", "embedding": [1.0], **good}]
    corpus = write(tmp_path / "odd.jsonl", [{**each, "doc_id": each["id"]} for each in fine])
    assert 4 == len(found(corpus, corpus, K, backend="pgvector", database_url=url))


def test_a_dropped_connection_is_one_line(url, corpus, queries):
    options = SearchOptions(database_url=url)
    table = Backend().open([corpus], options)
    table.connection.close()
    run = by_embeddings(table, Records.read([queries]), K, None)
    with pytest.raises(UserError, match='query "q0": the database does not answer: the conn'):
        list(run)
