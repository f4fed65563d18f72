"""Join the embeddings of shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, repeat

from structkit.command import Command
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.output import write_summary
from structkit.settings import quiet_setting, setting

OWN = ("count", "dim", "dtype", "run", "files")  # metadata that belong to one file alone


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Join NAME.npy files of one model in the given order; their ids must differ."""

    files: tuple[str, ...] = setting(
        ..., "NAME.npy files of one model.", argument=True, metavar="FILES", reads=True
    )
    output: str = setting(..., "NAME.npy to write.", short="-o", writes=True)
    quiet: bool = quiet_setting()


def merge_embeddings(settings: Settings) -> Record:
    """Write NAME.npy files one after the other, with the files beside them.

    The result is `{file, embeddings}`; the file has no hashes for `encode --reuse`. Errors:
    `UserError` if an id is in two files, or if models, dimensions or settings differ.
    """
    from structkit.embeddings.reading import concatenate, read_matrix
    from structkit.embeddings.vectors import EmbeddingRow, blocks
    from structkit.embeddings.writing import VectorFiles

    files, output = settings.files, settings.output
    for name in (*files, output):
        if not name.endswith(".npy"):
            remedy = f"encode with {flag('output')} NAME.npy"
            raise UserError(f"{name} is not a .npy file", remedy, status=2)
    parts = [read_matrix(name, fields=True) for name in files]
    meta = _common_meta(files, [part.meta for part in parts])
    corpus = concatenate(parts, files)
    chunks, fields = corpus.doc_ids != corpus.ids, bool(corpus.fields)
    if fields and len(corpus.fields) != len(corpus.ids):
        raise UserError(
            "some files have fields, others have none", f"encode all with {flag('keep')}"
        )
    kept: Iterable[Record] = corpus.fields or repeat({})
    rows = map(EmbeddingRow, corpus.ids, corpus.doc_ids, kept)
    quantize = meta.get("quantize")
    with VectorFiles(output, chunks=chunks, fields=fields, quantize=quantize) as target:
        for _, block in blocks(corpus.vectors):
            target.add(list(islice(rows, len(block))), block)
        target.finish(meta)
    return {"file": output, "embeddings": len(corpus.ids)}


def _common_meta(files: Sequence[str], metas: Sequence[Record]) -> Record:
    """Return the model and settings that the files share. Errors: they differ."""
    from structkit.embeddings.reading import differing

    for name, meta in zip(files, metas, strict=True):
        if others := differing(meta, metas[0]):
            problem = f"was encoded with another {others[0]} than {files[0]}"
            raise UserError(problem, "encode all files the same way").at(name)
    return {key: value for key, value in metas[0].items() if key not in OWN}


COMMAND = Command(
    merge_embeddings,
    Settings,
    lambda settings: write_summary(merge_embeddings(settings)),
    writes="`file`, `embeddings`",
    examples="""
structkit encode -m models/seal variants.jsonl --shard 0/2 -o part0.npy
structkit encode -m models/seal variants.jsonl --shard 1/2 -o part1.npy
structkit merge-embeddings part0.npy part1.npy -o all.npy
""",
)
