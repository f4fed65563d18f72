"""PostgreSQL with pgvector: embeddings in a table, for corpora that outgrow files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from structkit import plugin
from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import Vectors, blocks
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.searching.hits import Searcher, best_of_documents, check_options, refuse_filters
from structkit.searching.options import SearchOptions

MAXIMUM = 1000  # rows that pgvector's HNSW returns (hnsw.ef_search)
INDEXED = 2000  # the most dimensions of an index in pgvector
MEMORY = 4096  # MiB that building an index may take
GRAPH = 512  # bytes of a row in pgvector's graph besides its numbers
# a row for each table that structkit wrote: what it holds, so that it is not loaded twice
TABLES = """CREATE TABLE IF NOT EXISTS structkit_tables
  (name text PRIMARY KEY, content text, rows bigint, documents bigint, dimensions int,
   model text)"""
COLUMNS = ("content", "rows", "documents", "dimensions", "model")


class Backend(plugin.Backend):
    """A table of a PostgreSQL database with pgvector."""

    def open(self, corpus: Sequence[str], options: SearchOptions) -> PgVector:
        """The table of a corpus; its files are loaded unless that was done before.

        The name of a loaded table is a corpus too.
        """
        check_options(options, "pgvector", "explain", "index", "database_url")
        backend = flag("backend", "pgvector")
        if not options.database_url:
            problem = f"{backend} needs {flag('database_url')}"
            raise UserError(problem, "give postgresql://…", status=2)
        if options.index not in ("flat", "hnsw"):
            problem = f"{backend} takes no {flag('index', options.index)}"
            raise UserError(problem, "use flat or hnsw", status=2)
        psycopg = require("psycopg", "pgvector")
        try:
            connection = psycopg.connect(str(options.database_url), autocommit=True)
        except (psycopg.Error, ValueError):  # whose message may hold the password
            remedy = f"check {flag('database_url')}: postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            raise UserError("the database cannot be reached", f"{remedy}; psql says why") from None
        loaded = len(corpus) == 1 and not os.path.exists(corpus[0])
        table = PgVector(connection, corpus[0] if loaded else default_table(corpus), options)
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(TABLES)
            table.open(None if loaded else corpus)
            return table
        except psycopg.Error as error:
            connection.close()
            reason = str(error).strip().partition("\n")[0]
            problem = f"the database refuses: {reason}"
            refused = UserError(problem, "rename the corpus, or try another database")
            raise refused.at(f"table {table.name}") from None
        except BaseException:
            connection.close()
            raise


class PgVector(Searcher):
    """A table of embeddings; a document of several rows has the score of its best one."""

    def __init__(self, connection: Any, name: str, options: SearchOptions) -> None:
        self.connection, self.name, self.options = connection, name, options
        self.sql = require("psycopg.sql", "pgvector")
        self.table = self.sql.Identifier(name)

    def open(self, files: Sequence[str] | None) -> None:
        """Load files, unless the table holds them, and build the index that it lacks."""
        contents = self._contents()
        if files:
            contents = self._from_files(files, contents)
        elif contents is None:
            raise UserError(f"there is no file and no loaded table {self.name}", "check the name")
        self.dimensions, self.model = contents["dimensions"], contents["model"]
        self.rows, self.documents = contents["rows"], contents["documents"]
        self._check_filters()
        if self.options.index == "hnsw" and files:
            self._build_index()

    def _contents(self) -> Record | None:
        """What the table holds, if it was loaded by structkit."""
        select = f"SELECT {', '.join(COLUMNS)} FROM structkit_tables WHERE name = %s"
        row = self.connection.execute(select, [self.name]).fetchone()
        return dict(zip(COLUMNS, row, strict=True)) if row else None

    def _from_files(self, files: Sequence[str], known: Record | None) -> Record:
        """What the table of a corpus holds, after its files are loaded if necessary."""
        corpus = read_embeddings(files, fields=True)
        ids = orjson.dumps([corpus.ids, corpus.doc_ids, corpus.model, corpus.fields])
        digest = hashlib.sha256(ids)
        for _, block in blocks(corpus.vectors):
            digest.update(np.ascontiguousarray(block).tobytes())
        if known and known["content"] == digest.hexdigest():
            return known
        if known:
            say(f"the table {self.name} held another corpus, and is loaded again")
        documents = len(set(corpus.doc_ids))
        values = (digest.hexdigest(), len(corpus.ids), documents, corpus.dimensions, corpus.model)
        self._load(corpus, values, new=known is None)
        return dict(zip(COLUMNS, values, strict=True))

    def _load(self, corpus: Embeddings, values: Sequence[object], *, new: bool) -> None:
        """Copy the corpus into its table, in one transaction: whole or not at all."""
        sql, table = self.sql, self.table
        with self.connection.transaction(), self.connection.cursor() as cursor:
            exists = cursor.execute("SELECT to_regclass(%s)", [f'"{self.name}"']).fetchone()[0]
            if exists and new:
                raise UserError(
                    f"the database has a table {self.name} that structkit did not write",
                    "rename the file of the corpus, or name another database",
                )
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            create = (
                "CREATE TABLE {} (row bigint PRIMARY KEY, id text NOT NULL, doc_id text NOT NULL,"
                " fields jsonb, embedding vector({}) NOT NULL)"
            )
            cursor.execute(sql.SQL(create).format(table, sql.Literal(corpus.dimensions)))
            copy = "COPY {} (row, id, doc_id, fields, embedding) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(sql.SQL(copy).format(table)) as target:
                for piece in binary(corpus):
                    target.write(piece)
            cursor.execute("DELETE FROM structkit_tables WHERE name = %s", [self.name])
            insert = f"INSERT INTO structkit_tables VALUES (%s{', %s' * len(COLUMNS)})"
            cursor.execute(insert, [self.name, *values])
        self.connection.execute(sql.SQL("ANALYZE {}").format(table))

    def _build_index(self) -> None:
        """Build the HNSW index if it is missing."""
        if self.dimensions > INDEXED:
            raise UserError(
                f"pgvector indexes at most {INDEXED} dimensions, not {self.dimensions}",
                f"search with {flag('index', 'flat')}",
            )
        # a graph that does not fit in this memory is built many times more slowly
        memory = min(MEMORY, 64 + self.rows * (4 * self.dimensions + GRAPH) // 2**20)
        settings = {"maintenance_work_mem": f"{memory}MB"}
        create = self.sql.SQL(
            "CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (embedding vector_ip_ops)"
            " WITH (m = 16, ef_construction = 100)"
        ).format(self.sql.Identifier(f"{self.name}_hnsw"), self.table)
        # workers share that memory, and a container has little shared memory: then without them
        for more in ({}, {"max_parallel_maintenance_workers": "0"}):
            try:
                with self.connection.transaction():
                    for name, value in {**settings, **more}.items():
                        self.connection.execute("SELECT set_config(%s, %s, true)", [name, value])
                    self.connection.execute(create)
                return
            except require("psycopg", "pgvector").errors.DiskFull:
                if more:
                    raise

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        exact = self.options.index == "flat"
        hits = self._documents(queries, k, exact=exact)
        # an index searches only part of the table: where a filter leaves too little of that, the
        # whole table is searched
        short = [number for number, ranked in enumerate(hits) if len(ranked) < k]
        if short and not exact and (self.options.filter or k < self.documents):
            again = self._documents(queries[short], k, exact=True)
            for number, ranked in zip(short, again, strict=True):
                hits[number] = ranked
        return hits

    def _documents(self, queries: Vectors, k: int, *, exact: bool) -> list[list[Hit]]:
        """The k best documents, from as many rows as that takes."""
        rows = k * -(-self.rows // self.documents)
        while True:
            hits = self._rows(queries, rows, exact=exact or rows > MAXIMUM)
            best = [best_of_documents(ranked)[:k] for ranked in hits]
            whole = rows >= self.rows or self.rows == self.documents
            if whole or all(
                len(ranked) == k or len(of_rows) < rows
                for ranked, of_rows in zip(best, hits, strict=True)
            ):
                return best
            rows *= 2

    def _rows(self, queries: Vectors, rows: int, *, exact: bool) -> list[list[Hit]]:
        condition, values = self._condition()
        query = self.sql.SQL(
            "SELECT q.number, hit.id, hit.doc_id, hit.fields, -hit.distance"
            " FROM unnest(%s::vector[]) WITH ORDINALITY AS q(embedding, number)"
            " CROSS JOIN LATERAL (SELECT id, doc_id, fields, embedding <#> q.embedding AS distance"
            " FROM {} {} ORDER BY embedding <#> q.embedding LIMIT %s) AS hit"
        ).format(self.table, condition)
        texts = [orjson.dumps(row.tolist()).decode() for row in queries]
        hits: list[list[Hit]] = [[] for _ in texts]
        with self.connection.transaction(), self.connection.cursor() as cursor:
            for setting in planner_settings(rows, exact=exact):
                cursor.execute(setting)
            for number, row_id, doc_id, fields, score in cursor.execute(
                query, [texts, *values, rows], prepare=True
            ):
                best = {"id": row_id, **(fields or {})} if self.options.explain else None
                hits[number - 1].append(Hit(doc_id, score, best))
        return hits

    def _condition(self) -> tuple[Any, list[str]]:
        """The filters in SQL, and the values of its placeholders."""
        conditions = self.options.conditions
        # a value, or an item of a list
        one = "(fields ->> %s::text = %s OR fields -> %s::text @> %s::jsonb)"
        values = [
            text
            for name, value in conditions
            for text in (name, value, name, orjson.dumps([value]).decode())
        ]
        where = f"WHERE {' AND '.join([one] * len(conditions))}" if conditions else ""
        return self.sql.SQL(where), values

    def _check_filters(self) -> None:
        """Raise for filters that no row passes."""
        condition, values = self._condition()
        rows = self.sql.SQL("SELECT 1 FROM {} {} LIMIT 1").format(self.table, condition)
        if not values or self.connection.execute(rows, values).fetchone():
            return
        keys = self.sql.SQL("SELECT DISTINCT jsonb_object_keys(fields) FROM {}").format(self.table)
        refuse_filters(self.options, {key for (key,) in self.connection.execute(keys)}, self.name)

    def close(self) -> None:
        self.connection.close()


def planner_settings(rows: int, *, exact: bool) -> list[str]:
    """The settings of a transaction that searches this many rows."""
    if exact:
        return ["SET LOCAL enable_indexscan = off", "SET LOCAL enable_bitmapscan = off"]
    return [
        f"SET LOCAL hnsw.ef_search = {min(MAXIMUM, max(100, rows))}",
        "SET LOCAL enable_seqscan = off",
    ]


def binary(corpus: Embeddings) -> Iterator[bytes]:
    """The corpus as PostgreSQL's binary COPY: header, rows of five fields, trailer.

    A vector is its dimensions and a zero as 16-bit integers, and its numbers, all big-endian.
    Source: PostgreSQL's documentation of COPY; pgvector's vector_recv.
    """
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    head = corpus.dimensions.to_bytes(2, "big") + bytes(2)
    for first, block in blocks(corpus.vectors):
        rows = block.astype(">f4")
        for row, numbers in enumerate(rows, first):
            fields = corpus.fields[row] if corpus.fields else {}
            values = (
                row.to_bytes(8, "big"),
                corpus.ids[row].encode(),
                corpus.doc_ids[row].encode(),
                b"\1" + orjson.dumps(fields),  # the version of jsonb
                head + numbers.tobytes(),
            )
            sized = (len(value).to_bytes(4, "big") + value for value in values)
            yield b"\0\5" + b"".join(sized)
    yield b"\xff\xff"


def default_table(files: Sequence[str]) -> str:
    """The name of a table for a file.

    >>> default_table(["runs/Corpus-1.npy"])
    'structkit_corpus_1'
    """
    stem = Path(files[0]).name.partition(".")[0].lower()
    return "structkit_" + re.sub(r"[^a-z0-9]+", "_", stem)[:40]
