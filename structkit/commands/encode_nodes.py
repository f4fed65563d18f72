"""Embeddings of the nodes of trees: words, phrases and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from structkit.errors import UserError
from structkit.jsonl import Record
from structkit.learning.tree_nodes import nodes_of
from structkit.stream import Stream

WINDOW = 256  # texts held at a time: each has many nodes


def write_nodes(encoding: Any, stream: Stream, nodes: str, *, downward: bool = False) -> None:
    """Write `id`, `node`, `span`, `text` and `embedding` of each node of the stream's texts.

    `encoding` is that of `encode`, with a model of trees; see `nodes_of`. Errors: a model without
    trees, several fields, an output that is not JSONL.
    """
    if stream.output.endswith((".npy", ".parquet")):
        raise UserError("--nodes writes JSONL", "give -o another name", status=2)
    if len(encoding.fields) > 1:
        raise UserError("--nodes takes one --field", "run encode once a field", status=2)

    def embeddings(texts: Iterable[Record]) -> Iterator[Record]:
        found = iter(texts)
        while window := list(islice(found, WINDOW)):
            read = [record["texts"][0] for record in window]
            trees = nodes_of(
                encoding.encoder, read, nodes, encoding.batch_tokens, downward=downward
            )
            for record, records in zip(window, trees, strict=True):
                for node in records:
                    yield {"id": record["id"], **node, **record["kept"]}

    stream.run(encoding.texts, embeddings, label="encode")
    encoding.report()
