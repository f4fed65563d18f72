"""Join the embeddings that shards of a corpus were encoded into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from structkit.embeddings.npy import VectorFiles
from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.rows import EmbeddingRow
from structkit.embeddings.vectors import blocks
from structkit.errors import UserError
from structkit.records.jsonl import Record

OWN = ("count", "dim", "dtype", "run")  # metadata that belong to one file alone


def merge_embeddings(files: Sequence[str], output: str) -> Record:
    """Write NAME.npy files one after the other, with the files beside them.

    The result is `{file, embeddings}`. Errors: `UserError` if an id is in two files, if models,
    dimensions or settings differ, or if the output is one of the files.
    """
    for name in (*files, output):
        if not name.endswith(".npy"):
            raise UserError(f"{name} is not a .npy file", "encode with -o NAME.npy", status=2)
    if Path(output).resolve() in (Path(name).resolve() for name in files):
        raise UserError(f"{output} would be overwritten", "name another file with -o", status=2)
    first = _meta(files[0])
    for name in files[1:]:
        meta = _meta(name)
        for key in {**first, **meta}:
            if first.get(key) != meta.get(key):
                raise UserError(
                    f"was encoded with {key} {meta.get(key)!r}, {files[0]} with {first.get(key)!r}",
                    "encode all files the same way",
                ).at(name)
    corpus = read_embeddings(files, fields=True)
    chunks, fields = corpus.doc_ids != corpus.ids, bool(corpus.fields)
    if fields and len(corpus.fields) != len(corpus.ids):
        raise UserError("some of the files have fields, others none", "encode all with --keep")
    with VectorFiles(output, chunks=chunks, fields=fields) as target:
        for start, block in blocks(corpus.vectors):
            numbers = range(start, start + len(block))
            rows = [
                EmbeddingRow(
                    corpus.ids[place],
                    corpus.doc_ids[place],
                    corpus.fields[place] if fields else {},
                )
                for place in numbers
            ]
            target.add(rows, block)
        target.finish(first)
    return {"file": output, "embeddings": len(corpus.ids)}


def _meta(name: str) -> Record:
    """What NAME.meta.json says of the model and its settings; empty if there is none."""
    path = Path(name.removesuffix(".npy") + ".meta.json")
    if not path.exists():
        return {}
    try:
        facts: Record = orjson.loads(path.read_bytes())
        return {key: value for key, value in facts.items() if key not in OWN}
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"cannot be read: {error}", "encode the corpus again").at(
            str(path)
        ) from None
