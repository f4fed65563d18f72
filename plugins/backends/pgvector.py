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
from structkit.embeddings.vectors import Vectors, blocks, unit
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
PIECE = re.compile(r"[\w.%-]+")  # of an address
PUBLIC = {"port": re.compile(r"\d+"), **dict.fromkeys(("host", "user", "dbname"), PIECE)}
GRAPH = 512  # bytes of a row in pgvector's graph besides its numbers
# a row for each table that structkit wrote: what it holds, so that it is not loaded twice
TABLES = """CREATE TABLE IF NOT EXISTS structkit_tables
  (name text PRIMARY KEY, content text, rows bigint, documents bigint, dimensions int,
   similarity text, model text)"""
COLUMNS = ("content", "rows", "documents", "dimensions", "similarity", "model")


class Backend(plugin.Backend):
    """A table of a PostgreSQL database with pgvector."""

    def open(self, corpus: Sequence[str], options: SearchOptions) -> PgVector:
        """The table of a corpus; its files are loaded unless that was done before.

        The name of a loaded table is a corpus too.
        """
        check_options(options, "pgvector", "similarity", "explain", "index", "database_url")
        backend = flag("backend", "pgvector")
        if not options.database_url:
            problem = f"{backend} needs {flag('database_url')}"
            raise UserError(problem, "give postgresql://…", status=2)
        if options.index not in ("flat", "hnsw"):
            problem = f"{backend} takes no {flag('index', options.index)}"
            raise UserError(problem, "use flat or hnsw", status=2)
        psycopg, url = require("psycopg", "pgvector"), str(options.database_url)
        try:
            connection = psycopg.connect(url, autocommit=True)
        except (psycopg.Error, ValueError) as error:
            problem = f"the database cannot be reached{_reason(psycopg, error, url)}"
            remedy = f"check {flag('database_url')}: postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            raise UserError(problem, remedy) from None
        loaded = len(corpus) == 1 and not os.path.exists(corpus[0])
        table = corpus[0] if loaded else default_table(corpus)
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(TABLES)
            contents = (_loaded if loaded else _from_files)(
                psycopg, connection, table, corpus, options
            )
            opened = PgVector(psycopg, connection, table, contents, options)
            opened.check_filters()
            if options.index == "hnsw" and not loaded:
                build_index(psycopg, connection, table, opened.rows, opened.dimensions)
            return opened
        except psycopg.Error as error:
            connection.close()
            problem = f"the database refuses{_reason(psycopg, error, url)}"
            refused = UserError(problem, "rename the corpus, or try another database")
            raise refused.at(f"table {table}") from None
        except BaseException:
            connection.close()
            raise


class PgVector(Searcher):
    """A table of embeddings; a document of several rows has the score of its best one."""

    def __init__(
        self, psycopg: Any, connection: Any, table: str, contents: Record, options: SearchOptions
    ) -> None:
        self.sql, self.connection, self.options = psycopg.sql, connection, options
        self.name, self.table = table, self.sql.Identifier(table)
        self.dimensions, self.model = contents["dimensions"], contents["model"]
        self.rows, self.documents = contents["rows"], contents["documents"]

    def search(self, queries: Vectors, k: int) -> list[list[Hit]]:
        if self.options.cosine:
            queries = unit(queries)
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
            merged = [best_of_documents(ranked)[:k] for ranked in hits]
            whole = rows >= self.rows or self.rows == self.documents
            if whole or all(
                len(ranked) == k or len(of_rows) < rows
                for ranked, of_rows in zip(merged, hits, strict=True)
            ):
                return merged
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


def planner_settings(rows: int, *, exact: bool) -> list[str]:
    """The settings of a transaction that searches this many rows."""
    if exact:
        return ["SET LOCAL enable_indexscan = off", "SET LOCAL enable_bitmapscan = off"]
    return [
        f"SET LOCAL hnsw.ef_search = {min(MAXIMUM, max(100, rows))}",
        "SET LOCAL enable_seqscan = off",
    ]


def _contents(connection: Any, table: str) -> Record | None:
    """What a table holds, if it was loaded by structkit."""
    select = f"SELECT {', '.join(COLUMNS)} FROM structkit_tables WHERE name = %s"
    row = connection.execute(select, [table]).fetchone()
    return dict(zip(COLUMNS, row, strict=True)) if row else None


def _loaded(
    psycopg: Any, connection: Any, table: str, files: Sequence[str], options: SearchOptions
) -> Record:
    """What a table that is the corpus holds."""
    contents = _contents(connection, table)
    if contents is None:
        raise UserError(f"there is no file and no loaded table {table}", "check the name")
    if contents["similarity"] != options.similarity:
        raise UserError(
            f"the table {table} was loaded for {flag('similarity', contents['similarity'])}",
            "search it with the same",
        )
    return contents


def _from_files(
    psycopg: Any, connection: Any, table: str, files: Sequence[str], options: SearchOptions
) -> Record:
    """What the table of a corpus holds, after its files are loaded if necessary."""
    corpus = read_embeddings(files, normalize=options.cosine, fields=True)
    digest = hashlib.sha256(orjson.dumps([corpus.ids, corpus.doc_ids, corpus.model, corpus.fields]))
    for _, block in blocks(corpus.vectors):
        digest.update(np.ascontiguousarray(block).tobytes())
    known = _contents(connection, table)
    if known and known["content"] == digest.hexdigest():
        return known
    if known:
        say(f"the table {table} held another corpus, and is loaded again")
    values = (digest.hexdigest(), len(corpus.ids), len(set(corpus.doc_ids)), corpus.dimensions)
    contents = dict(zip(COLUMNS, (*values, options.similarity, corpus.model), strict=True))
    load(psycopg.sql, connection, table, corpus, contents)
    return contents


def load(sql: Any, connection: Any, table: str, corpus: Embeddings, contents: Record) -> None:
    """Copy the corpus into its table, in one transaction: whole or not at all."""
    name = sql.Identifier(table)
    with connection.transaction(), connection.cursor() as cursor:
        exists = cursor.execute("SELECT to_regclass(%s)", [f'"{table}"']).fetchone()[0]
        if exists and not _contents(connection, table):
            raise UserError(
                f"the database has a table {table} that structkit did not write",
                "rename the file of the corpus, or name another database",
            )
        cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
        create = (
            "CREATE TABLE {} (row bigint PRIMARY KEY, id text NOT NULL, doc_id text NOT NULL,"
            " fields jsonb, embedding vector({}) NOT NULL)"
        )
        cursor.execute(sql.SQL(create).format(name, sql.Literal(corpus.dimensions)))
        copy = sql.SQL("COPY {} (row, id, doc_id, fields, embedding) FROM STDIN (FORMAT BINARY)")
        with cursor.copy(copy.format(name)) as target:
            for piece in binary(corpus):
                target.write(piece)
        cursor.execute("DELETE FROM structkit_tables WHERE name = %s", [table])
        insert = f"INSERT INTO structkit_tables VALUES (%s{', %s' * len(COLUMNS)})"
        cursor.execute(insert, [table, *contents.values()])
    connection.execute(sql.SQL("ANALYZE {}").format(name))


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


def build_index(psycopg: Any, connection: Any, table: str, rows: int, dimensions: int) -> None:
    """Build the HNSW index if it is missing."""
    if dimensions > INDEXED:
        raise UserError(
            f"pgvector indexes at most {INDEXED} dimensions, not {dimensions}",
            f"search with {flag('index', 'flat')}",
        )
    # a graph that does not fit in this memory is built many times more slowly
    memory = min(MEMORY, 64 + rows * (4 * dimensions + GRAPH) // 2**20)
    settings = {"maintenance_work_mem": f"{memory}MB"}
    sql = psycopg.sql
    create = sql.SQL(
        "CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (embedding vector_ip_ops)"
        " WITH (m = 16, ef_construction = 100)"
    ).format(sql.Identifier(f"{table}_hnsw"), sql.Identifier(table))
    # workers share that memory, and a container has little shared memory: then without them
    for more in ({}, {"max_parallel_maintenance_workers": "0"}):
        try:
            with connection.transaction():
                for name, value in {**settings, **more}.items():
                    connection.execute("SELECT set_config(%s, %s, true)", [name, value])
                connection.execute(create)
            return
        except psycopg.errors.DiskFull:
            if more:
                raise


def default_table(files: Sequence[str]) -> str:
    """The name of a table for a file.

    >>> default_table(["runs/Corpus-1.npy"])
    'structkit_corpus_1'
    """
    stem = Path(files[0]).name.partition(".")[0].lower()
    return "structkit_" + re.sub(r"[^a-z0-9]+", "_", stem)[:40]


def _reason(psycopg: Any, error: Exception, url: str) -> str:
    """What the library says, unless that holds a part of the address that may be a secret.

    It quotes what it cannot read, and takes for a host or a port what stands in their place.
    """
    line = str(error).strip().partition("\n")[0]
    try:
        known = psycopg.conninfo.conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        return ""
    public = {*known, "postgres", "postgresql"}
    public |= {
        str(known[name])
        for name, form in PUBLIC.items()
        if name in known and form.fullmatch(str(known[name]))
    }
    private = {*PIECE.findall(url), str(known.get("password") or "")} - {*public, ""}
    return "" if any(piece in line for piece in private) else f": {line}"
