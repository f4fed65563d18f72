"""Tables of embeddings in PostgreSQL: what they hold, and how they are loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson

from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import blocks
from structkit.errors import UserError
from structkit.extras import require
from structkit.records.jsonl import Record
from structkit.searching.options import SearchOptions

FORMAT = 1

# a row for each table that structkit wrote: what it holds, so that it is not loaded twice
TABLES = """CREATE TABLE IF NOT EXISTS structkit_tables
  (name text PRIMARY KEY, format int, content text, rows bigint, documents bigint, dimensions int,
   similarity text, model text)"""


def facts_of(connection: Any, table: str) -> Record | None:
    """What a table holds, if it was loaded by structkit."""
    names = ("format", "content", "rows", "documents", "dimensions", "similarity", "model")
    row = connection.execute(
        f"SELECT {', '.join(names)} FROM structkit_tables WHERE name = %s", [table]
    ).fetchone()
    return dict(zip(names, row, strict=True)) if row else None


def load(
    connection: Any, table: str, corpus: Embeddings, content: str, options: SearchOptions
) -> None:
    """Copy the corpus into its table, in one transaction: whole or not at all."""
    sql = require("psycopg.sql", "pgvector")
    name = sql.Identifier(table)
    with connection.transaction(), connection.cursor() as cursor:
        known = cursor.execute("SELECT 1 FROM structkit_tables WHERE name = %s", [table]).fetchone()
        exists = cursor.execute("SELECT to_regclass(%s)", [f'"{table}"']).fetchone()[0]
        if exists and not known:
            raise UserError(
                f"the database has a table {table} that structkit did not write",
                "rename the file of the corpus, or name another database",
            )
        cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
        cursor.execute(
            sql.SQL(
                "CREATE TABLE {} (row bigint PRIMARY KEY, id text NOT NULL, doc_id text NOT NULL,"
                " fields jsonb, embedding vector({}) NOT NULL)"
            ).format(name, sql.Literal(corpus.dimensions))
        )
        copy = sql.SQL("COPY {} (row, id, doc_id, fields, embedding) FROM STDIN (FORMAT BINARY)")
        with cursor.copy(copy.format(name)) as target:
            for piece in binary(corpus):
                target.write(piece)
        cursor.execute("DELETE FROM structkit_tables WHERE name = %s", [table])
        cursor.execute(
            "INSERT INTO structkit_tables VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [table, FORMAT, content, len(corpus.ids), len(set(corpus.doc_ids))]
            + [corpus.dimensions, options.similarity, corpus.model],
        )
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


def content_of(corpus: Embeddings) -> str:
    """The hash of everything that a table holds."""
    digest = hashlib.sha256(orjson.dumps([corpus.ids, corpus.doc_ids, corpus.model, corpus.fields]))
    for _, block in blocks(corpus.vectors):
        digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()
