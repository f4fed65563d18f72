"""Embeddings as PostgreSQL's binary COPY reads them."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from structkit.embeddings.reading import Embeddings
from structkit.embeddings.vectors import blocks


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
