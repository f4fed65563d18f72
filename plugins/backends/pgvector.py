"""PostgreSQL with pgvector: embeddings in a table, for corpora that outgrow files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from structkit import plugin
from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import NEARLY, Vectors, are_unit, blocks
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.searching.hits import RowSearcher, check_options, check_similarity, refuse_filters
from structkit.searching.options import SearchOptions

MAXIMUM = 1000  # rows that pgvector's HNSW returns (hnsw.ef_search)
INDEXED = 2000  # the most dimensions of an index in pgvector
MEMORY = 4096  # MiB that building an index may take
GRAPH = 512  # bytes of a row in pgvector's graph in addition to its numbers
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # in JSON
OURS = '{"structkit":'  # how the comments of tables begin that structkit wrote


class Backend(plugin.Backend):
    """A table of a PostgreSQL database with pgvector."""

    def open(self, corpus: Sequence[str], options: SearchOptions) -> PgVector:
        """Open the table of a corpus, and load its files if that was not done before.

        The name of a loaded table is a corpus too.
        """
        check_options(options, "pgvector", "explain", "index", "database_url", "similarity")
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


class PgVector(RowSearcher):
    """Table of embeddings; its comment records its content, so it is not loaded twice."""

    def __init__(self, connection: Any, name: str, options: SearchOptions) -> None:
        self.connection, self.name, self.options = connection, name, options
        identifier = require("psycopg.sql", "pgvector").Identifier
        names = name, f"{name}_hnsw"
        self.table, self.graph = (identifier(each).as_string(connection) for each in names)
        # a field has the value, or a list with it
        one = "(fields ->> %s::text = %s OR fields -> %s::text @> %s::jsonb)"
        conditions = options.conditions
        self.where = f"WHERE {' AND '.join([one] * len(conditions))}" if conditions else ""
        self.values = [
            text
            for field, value in conditions
            for text in (field, value, field, orjson.dumps([value]).decode())
        ]

    def open(self, files: Sequence[str] | None) -> None:
        """Load files, unless the table holds them, and build the index that it lacks."""
        select = "SELECT to_regclass(%s) IS NULL, obj_description(to_regclass(%s), 'pg_class')"
        free, comment = self.connection.execute(select, [self.table] * 2).fetchone()
        contents = orjson.loads(comment) if (comment or "").startswith(OURS) else None
        if files:
            if not (free or contents):
                problem = f"the database has a table {self.name} that structkit did not write"
                remedy = "rename the file of the corpus, or name another database"
                raise UserError(problem, remedy)
            contents = self._from_files(files, contents)
        elif contents is None:
            raise UserError(f"there is no file and no loaded table {self.name}", "check the name")
        self.dimensions, self.model = contents["dimensions"], contents["model"]
        self.cut = contents.get("cut")
        self.rows, self.documents = contents["rows"], contents["documents"]
        check_similarity(self.options, "pgvector", unit=bool(contents.get("unit")))
        self._check_filters()
        if self.options.index == "hnsw" and files:
            # a graph that does not fit in this memory is built many times more slowly
            graph = self.rows * (4 * self.dimensions + GRAPH) // 2**20
            self.build_index(min(MEMORY, 64 + graph))

    def _from_files(self, files: Sequence[str], known: Record | None) -> Record:
        """Return the content of a corpus's table, after loading its files if necessary."""
        corpus = read_embeddings(files, fields=True)
        check_rows(corpus, files[0])
        ids = orjson.dumps([corpus.ids, corpus.doc_ids, corpus.model, corpus.fields])
        digest = hashlib.sha256(ids)
        for _, block in blocks(corpus.vectors):
            digest.update(np.ascontiguousarray(block).tobytes())
        contents = {
            "structkit": digest.hexdigest(),
            "rows": len(corpus.ids),
            "documents": len(set(corpus.doc_ids)),
            "dimensions": corpus.dimensions,
            "model": corpus.model,
            "unit": are_unit(corpus.vectors, NEARLY),
            "cut": corpus.meta.get("dimensions"),
        }
        if known and known["structkit"] != contents["structkit"]:
            say(f"the table {self.name} held another corpus, and is loaded again")
        if known != contents:
            self._load(corpus, contents)
        return contents

    def _load(self, corpus: Embeddings, contents: Record) -> None:
        """Copy the corpus into its table, in one transaction: whole or not at all."""
        literal = require("psycopg.sql", "pgvector").Literal
        comment = literal(orjson.dumps(contents).decode()).as_string(self.connection)
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")
            cursor.execute(
                f"CREATE TABLE {self.table} (row bigint PRIMARY KEY, id text NOT NULL,"
                " doc_id text NOT NULL, fields jsonb,"
                f" embedding vector({corpus.dimensions}) NOT NULL)"
            )
            columns = "(row, id, doc_id, fields, embedding)"
            with cursor.copy(f"COPY {self.table} {columns} FROM STDIN (FORMAT BINARY)") as target:
                # jsonb and vectors are written as PostgreSQL receives them
                target.set_types(("int8", "text", "text", "bytea", "bytea"))
                for row in binary_rows(corpus):
                    target.write_row(row)
            cursor.execute(f"COMMENT ON TABLE {self.table} IS {comment}")
        self.connection.execute(f"ANALYZE {self.table}")

    def _check_filters(self) -> None:
        """Raise for filters that no row passes."""
        rows = f"SELECT 1 FROM {self.table} {self.where} LIMIT 1"
        if not self.values or self.connection.execute(rows, self.values).fetchone():
            return
        keys = f"SELECT DISTINCT jsonb_object_keys(fields) FROM {self.table}"
        refuse_filters(self.options, {key for (key,) in self.connection.execute(keys)}, self.name)

    def build_index(self, memory: int) -> None:
        """Build the HNSW index if it is missing, in `memory` MiB."""
        if self.dimensions > INDEXED:
            raise UserError(
                f"pgvector indexes at most {INDEXED} dimensions, not {self.dimensions}",
                f"search with {flag('index', 'flat')}",
            )
        # workers share that memory, and a container has little shared memory: then without them
        for workers in ("", "SET LOCAL max_parallel_maintenance_workers = 0"):
            try:
                with self.connection.transaction():
                    self.connection.execute(
                        f"SET LOCAL maintenance_work_mem = '{memory}MB'; {workers}"
                    )
                    self.connection.execute(
                        f"CREATE INDEX IF NOT EXISTS {self.graph} ON {self.table} USING hnsw"
                        " (embedding vector_ip_ops) WITH (m = 16, ef_construction = 100)"
                    )
                return
            except require("psycopg", "pgvector").errors.DiskFull:
                if workers:
                    raise

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        try:
            return super().search(queries, k)
        except require("psycopg", "pgvector").Error as error:
            reason = str(error).strip().partition("\n")[0]
            problem = f"the database does not answer: {reason}"
            raise UserError(problem, "search again when it does") from None

    def find(self, queries: Vectors, rows: int) -> list[list[Hit]]:
        exact = self.options.index == "flat" or rows > MAXIMUM
        found = self._rows(queries, rows, exact=exact)
        # an index searches only part of the table: where a filter leaves too little of that, the
        # whole table is searched
        short = [number for number, hits in enumerate(found) if len(hits) < rows]
        if short and not exact:
            again = self._rows(queries[short], rows, exact=True)
            for number, hits in zip(short, again, strict=True):
                found[number] = hits
        return found

    def _rows(self, queries: Vectors, rows: int, *, exact: bool) -> list[list[Hit]]:
        query = (
            "SELECT q.number, hit.id, hit.doc_id, hit.fields, -hit.distance"
            " FROM unnest(%s::vector[]) WITH ORDINALITY AS q(embedding, number)"
            " CROSS JOIN LATERAL (SELECT id, doc_id, fields, embedding <#> q.embedding AS distance"
            f" FROM {self.table} {self.where} ORDER BY embedding <#> q.embedding LIMIT %s) AS hit"
        )
        texts = [orjson.dumps(row.tolist()).decode() for row in queries]
        hits: list[list[Hit]] = [[] for _ in texts]
        with self.connection.transaction(), self.connection.cursor() as cursor:
            for setting in planner_settings(rows, exact=exact):
                cursor.execute(setting)
            for number, row_id, doc_id, fields, score in cursor.execute(
                query, [texts, *self.values, rows], prepare=True
            ):
                best = {"id": row_id, **(fields or {})} if self.options.explain else None
                hits[number - 1].append(Hit(doc_id, score, best))
        return hits

    def close(self) -> None:
        self.connection.close()


def check_rows(corpus: Embeddings, file: str) -> None:
    """Raise for a row that a table cannot hold."""
    fields: Iterable[Record] = corpus.fields or repeat({})
    for row_id, doc_id, record in zip(corpus.ids, corpus.doc_ids, fields, strict=False):
        remedy = "encode without the field, or write it in another way"
        try:
            text = orjson.dumps([row_id, doc_id, record])
        except TypeError:
            problem = f"record {row_id!r} has a whole number of more than 64 bits"
            raise UserError(problem, remedy).at(file) from None
        if NUL.search(text):
            problem = f"record {row_id!r} holds a NUL, which PostgreSQL cannot"
            raise UserError(problem, remedy).at(file)


def planner_settings(rows: int, *, exact: bool) -> list[str]:
    """Return the settings of a transaction that searches this many rows."""
    if exact:
        return ["SET LOCAL enable_indexscan = off", "SET LOCAL enable_bitmapscan = off"]
    return [
        f"SET LOCAL hnsw.ef_search = {min(MAXIMUM, max(100, rows))}",
        "SET LOCAL enable_seqscan = off",
    ]


def binary_rows(corpus: Embeddings) -> Iterator[tuple[int, str, str, bytes, bytes]]:
    """Yield the rows of a corpus; jsonb is its version and its text.

    A vector is its dimensions and a zero as 16-bit integers, and its numbers, all big-endian.
    Source: pgvector's vector_recv.
    """
    head = corpus.dimensions.to_bytes(2, "big") + bytes(2)
    for first, block in blocks(corpus.vectors):
        for row, numbers in enumerate(block.astype(">f4"), first):
            fields = b"\1" + orjson.dumps(corpus.fields[row] if corpus.fields else {})
            yield row, corpus.ids[row], corpus.doc_ids[row], fields, head + numbers.tobytes()


def default_table(files: Sequence[str]) -> str:
    """Return the name of a table for a file.

    >>> default_table(["runs/Corpus-1.npy"])
    'structkit_corpus_1'
    """
    stem = Path(files[0]).name.partition(".")[0].lower()
    return "structkit_" + re.sub(r"[^a-z0-9]+", "_", stem)[:40]
