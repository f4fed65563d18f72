"""PostgreSQL with pgvector: embeddings in a table, for corpora that outgrow files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from structkit import plugin
from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import Vectors, unit
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.searching.hits import best_of_documents, refuse_filters
from structkit.searching.options import SearchOptions

from ._postgres_table import TABLES, content_of, facts_of, load

BATCH = 100
MOST = 1000  # most rows that pgvector's HNSW returns (hnsw.ef_search)
INDEXED = 2000  # most dimensions of an index in pgvector
MEMORY = 4096  # MiB that building an index may take
PIECE = re.compile(r"[\w.%-]+")  # of an address
PUBLIC = {"port": re.compile(r"\d+"), **dict.fromkeys(("host", "user", "dbname"), PIECE)}
GRAPH = 512  # bytes of a row in pgvector's graph besides its numbers


class PgVector:
    """A table of embeddings; a document of several rows has the score of its best one."""

    def __init__(self, connection: Any, table: str, facts: Record, options: SearchOptions) -> None:
        self.sql = require("psycopg.sql", "pgvector")
        self.connection, self.options = connection, options
        self.name, self.table = table, self.sql.Identifier(table)
        self.dimensions, self.model = facts["dimensions"], facts["model"]
        self.rows, self.documents = facts["rows"], facts["documents"]

    def batch(self, k: int) -> int:
        return BATCH

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        if self.options.cosine:
            queries = unit(queries)
        exact = self.options.index == "flat"
        hits = self._documents(queries, k, exact=exact)
        if not exact:
            # an index searches only part of the table: where a filter leaves too little of that,
            # the whole table is searched
            short = [number for number, ranked in enumerate(hits) if len(ranked) < k]
            if short and (self.options.filter or k < self.documents):
                again = self._documents(queries[short], k, exact=True)
                for number, ranked in zip(short, again, strict=True):
                    hits[number] = ranked
        return hits

    def _documents(self, queries: Vectors, k: int, *, exact: bool) -> list[list[Hit]]:
        """The k best documents, from as many rows as that takes."""
        per_document = -(-self.rows // self.documents)
        rows = k * per_document
        while True:
            if not exact and rows > MOST:
                exact = True
            hits = self._rows(queries, rows, exact=exact)
            merged = [best_of_documents(ranked)[:k] for ranked in hits]
            whole = rows >= self.rows or self.rows == self.documents
            if whole or all(
                len(ranked) == k or len(of_rows) < rows
                for ranked, of_rows in zip(merged, hits, strict=True)
            ):
                return merged
            rows *= 2

    def _rows(self, queries: Vectors, rows: int, *, exact: bool) -> list[list[Hit]]:
        sql, (condition, values) = self.sql, self._condition()
        query = sql.SQL(
            "SELECT q.number, hit.id, hit.doc_id, hit.fields, -hit.distance"
            " FROM unnest(%s::vector[]) WITH ORDINALITY AS q(embedding, number)"
            " CROSS JOIN LATERAL (SELECT id, doc_id, fields, embedding <#> q.embedding AS distance"
            " FROM {} {} ORDER BY embedding <#> q.embedding LIMIT %s) AS hit"
        ).format(self.table, condition)
        texts = [orjson.dumps(row.tolist()).decode() for row in queries]
        hits: list[list[Hit]] = [[] for _ in texts]
        with self.connection.transaction(), self.connection.cursor() as cursor:
            for setting in settings(rows, exact=exact):
                cursor.execute(setting)
            for number, row_id, doc_id, fields, score in cursor.execute(
                query, [texts, *values, rows], prepare=True
            ):
                best = {"id": row_id, **(fields or {})} if self.options.explain else None
                hits[number - 1].append(Hit(doc_id, score, best))
        return hits

    def _condition(self) -> tuple[Any, list[str]]:
        """The filters in SQL, and the values of its placeholders."""
        wanted = self.options.wanted
        # a value, or an item of a list
        one = "(fields ->> %s::text = %s OR fields -> %s::text @> %s::jsonb)"
        values = [
            text
            for name, value in wanted.items()
            for text in (name, value, name, orjson.dumps([value]).decode())
        ]
        return self.sql.SQL(f"WHERE {' AND '.join([one] * len(wanted))}" if wanted else ""), values

    def check_filters(self) -> None:
        """Raise for filters that no row passes."""
        condition, values = self._condition()
        rows = self.sql.SQL("SELECT 1 FROM {} {} LIMIT 1").format(self.table, condition)
        if not values or self.connection.execute(rows, values).fetchone():
            return
        keys = self.sql.SQL("SELECT DISTINCT jsonb_object_keys(fields) FROM {}").format(self.table)
        refuse_filters(self.options, {key for (key,) in self.connection.execute(keys)}, self.name)

    def close(self) -> None:
        self.connection.close()


def settings(rows: int, *, exact: bool) -> list[str]:
    """The settings of a transaction that searches this many rows."""
    if exact:
        return ["SET LOCAL enable_indexscan = off", "SET LOCAL enable_bitmapscan = off"]
    return [
        f"SET LOCAL hnsw.ef_search = {min(MOST, max(100, rows))}",
        "SET LOCAL enable_seqscan = off",
    ]


class Backend(plugin.Backend):
    """A table of a PostgreSQL database with pgvector."""

    def opened(self, corpus: Sequence[str], options: SearchOptions) -> PgVector:
        """The table of a corpus; its files are loaded unless that was done before.

        The name of a loaded table is a corpus too.
        """
        if not options.database_url:
            raise UserError(
                f"{flag('backend', 'pgvector')} needs {flag('database_url')}",
                "give postgresql://…",
                status=2,
            )
        if options.index not in ("flat", "hnsw") or options.parameters or options.save_index:
            others = f"{flag('parameters')} or {flag('save_index')}"
            raise UserError(
                f"{flag('backend', 'pgvector')} takes {flag('index')} flat or hnsw, not {others}",
                "leave the others out",
                status=2,
            )
        psycopg = require("psycopg", "pgvector")
        try:
            connection = psycopg.connect(options.database_url, autocommit=True)
        except (psycopg.Error, ValueError) as error:
            problem = f"the database cannot be reached{_told(error, options.database_url)}"
            remedy = f"check {flag('database_url')}: postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            raise UserError(problem, remedy) from None
        loaded = len(corpus) == 1 and not os.path.exists(corpus[0])
        table = corpus[0] if loaded else default_table(corpus)
        try:
            opened = PgVector(
                connection, table, _facts(connection, table, corpus, options), options
            )
            opened.check_filters()
            if options.index == "hnsw" and not loaded:
                index(connection, table, opened.rows, opened.dimensions)
            return opened
        except psycopg.Error as error:
            connection.close()
            problem = f"the database refuses{_told(error, options.database_url)}"
            refused = UserError(problem, "rename the corpus, or try another database")
            raise refused.at(f"table {table}") from None
        except BaseException:
            connection.close()
            raise


def _facts(connection: Any, table: str, files: Sequence[str], options: SearchOptions) -> Record:
    """The facts of a corpus's table, after its files are loaded if necessary."""
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(TABLES)
    facts = facts_of(connection, table)
    if not os.path.exists(files[0]):
        if facts is None:
            raise UserError(f"there is no file and no loaded table {table}", "check the name")
        if facts["similarity"] != options.similarity:
            raise UserError(
                f"the table {table} was loaded for {flag('similarity', facts['similarity'])}",
                "search it with the same",
            )
        return facts
    corpus = read_embeddings(files, normalize=options.cosine, fields=True)
    content = content_of(corpus)
    if facts is None or facts["content"] != content:
        if facts:
            say(f"the table {table} held another corpus, and is loaded again")
        load(connection, table, corpus, content, options)
        facts = facts_of(connection, table)
        assert facts is not None
    return facts


def index(connection: Any, table: str, rows: int, dimensions: int) -> None:
    """Build the HNSW index if it is missing."""
    if dimensions > INDEXED:
        raise UserError(
            f"pgvector indexes at most {INDEXED} dimensions, not {dimensions}",
            f"search with {flag('index', 'flat')}",
        )
    sql, errors = require("psycopg.sql", "pgvector"), require("psycopg.errors", "pgvector")
    # a graph that does not fit in this memory is built many times more slowly
    memory = min(MEMORY, 64 + rows * (4 * dimensions + GRAPH) // 2**20)
    settings = {"maintenance_work_mem": f"{memory}MB"}
    create = sql.SQL(
        "CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (embedding vector_ip_ops)"
        " WITH (m = 16, ef_construction = 100)"
    ).format(sql.Identifier(f"{table}_hnsw"), sql.Identifier(table))
    try:
        _run(connection, create, settings)
    except errors.DiskFull:  # workers share that memory, and a container has little shared memory
        _run(connection, create, {**settings, "max_parallel_maintenance_workers": "0"})


def _run(connection: Any, statement: Any, settings: dict[str, str]) -> None:
    """Execute a statement under settings that last only for it."""
    with connection.transaction():
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, true)", [name, value])
        connection.execute(statement)


def default_table(files: Sequence[str]) -> str:
    """The name of a table for a file.

    >>> default_table(["runs/Corpus-1.npy"])
    'structkit_corpus_1'
    """
    stem = Path(files[0]).name.partition(".")[0].lower()
    return "structkit_" + re.sub(r"[^a-z0-9]+", "_", stem)[:40]


def _told(error: Exception, url: str) -> str:
    """What the library says, unless that holds a part of the address that may be a secret.

    It quotes what it cannot read, and takes for a host or a port what stands in their place.
    """
    conninfo = require("psycopg.conninfo", "pgvector")
    line = str(error).strip().partition("\n")[0]
    try:
        known = conninfo.conninfo_to_dict(url)
    except (require("psycopg", "pgvector").Error, ValueError):
        return ""
    public = {*known, "postgres", "postgresql"}
    public |= {
        str(known[name])
        for name, form in PUBLIC.items()
        if name in known and form.fullmatch(str(known[name]))
    }
    private = {*PIECE.findall(url), str(known.get("password") or "")} - {*public, ""}
    return "" if any(piece in line for piece in private) else f": {line}"
