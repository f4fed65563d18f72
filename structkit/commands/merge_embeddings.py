"""Join the embeddings of shards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from structkit.errors import UserError, flag
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.output import write_summary
from structkit.settings import Command, quiet_setting, setting

OWN = ("count", "dim", "dtype", "run", "files")  # metadata that belong to one file alone


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Join NAME.npy files of one model in the order given; no id may be in two of them."""

    files: tuple[str, ...] = setting(
        ..., "NAME.npy files of one model.", argument=True, metavar="FILES", reads=True
    )
    output: str = setting(..., "NAME.npy to write.", short="-o", writes=True)
    quiet: bool = quiet_setting()


def merge_embeddings(settings: Settings) -> Record:
    """Write NAME.npy files one after the other, with the files beside them.

    The result is `{file, embeddings}`. The hashes that `encode --reuse` reads are kept if all files
    were encoded with the same settings; if not, a message says so. Errors: `UserError` if an id is
    in two files, if models, dimensions or settings differ, or if the output is one of the files.
    """
    from structkit.embeddings.matrices import hashes_of
    from structkit.embeddings.reading import read_embeddings
    from structkit.embeddings.rows import EmbeddingRow
    from structkit.embeddings.vectors import blocks
    from structkit.embeddings.writing import VectorFiles

    files, output = settings.files, settings.output
    for name in (*files, output):
        if not name.endswith(".npy"):
            raise UserError(f"{name} is not a .npy file", "encode with -o NAME.npy", status=2)
    if os.path.realpath(output) in map(os.path.realpath, files):
        raise UserError(
            f"{output} would be overwritten", f"name another file with {flag('output')}", status=2
        )
    facts = {name: _facts(name) for name in files}
    first = _meta(facts[files[0]])
    for name in files[1:]:
        meta = _meta(facts[name])
        for key in {**first, **meta}:
            if first.get(key) != meta.get(key):
                raise UserError(
                    f"was encoded with {key} {meta.get(key)!r}, {files[0]} with {first.get(key)!r}",
                    "encode all files the same way",
                ).at(name)
    corpus = read_embeddings(files, fields=True)
    chunks, fields = corpus.doc_ids != corpus.ids, bool(corpus.fields)
    if fields and len(corpus.fields) != len(corpus.ids):
        raise UserError("some files have fields, others have none", "encode all with --keep")
    run = merged_run(facts)
    hashes = (
        [each for name in files for each in hashes_of(name, facts[name]["count"], facts[name])]
        if run
        else []
    )
    quantize = first.get("quantize")
    with VectorFiles(
        output, chunks=chunks, fields=fields, hashes=bool(run), quantize=quantize
    ) as target:
        for start, block in blocks(corpus.vectors):
            numbers = range(start, start + len(block))
            rows = [
                EmbeddingRow(
                    corpus.ids[place],
                    corpus.doc_ids[place],
                    corpus.fields[place] if fields else {},
                    hashes[place] if run else "",
                )
                for place in numbers
            ]
            target.add(rows, block)
        target.finish({**first, "run": run} if run else first)
    return {"file": output, "embeddings": len(corpus.ids)}


def merged_run(facts: Mapping[str, Record]) -> Record | None:
    """The facts of one run over the records of all files; None where there can be none."""
    from structkit.embeddings.matrices import differing

    first, *_ = facts
    runs = [each.get("run") or {} for each in facts.values()]
    for name, run in zip(facts, runs, strict=True):
        others = differing(run, runs[0])
        if "hashes" not in run or others:
            why = f"has another {others[0]} than {first}" if others else "has no hashes of texts"
            say(f"{name} {why}: encode --reuse cannot use {first} and it as one")
            return None
    precisions = {run.get("precision") for run in runs}
    return {
        **runs[0],
        "records": sum(run.get("records", 0) for run in runs),
        "sha256": None,  # no run has read all these records
        "precision": precisions.pop() if len(precisions) == 1 else None,
    }


def _meta(facts: Record) -> Record:
    """What NAME.meta.json says of the model and its settings."""
    return {key: value for key, value in facts.items() if key not in OWN}


def _facts(name: str) -> Record:
    """What NAME.meta.json says; empty if there is none."""
    from structkit.embeddings.matrices import AGAIN

    path = Path(name.removesuffix(".npy") + ".meta.json")
    if not path.exists():
        return {}
    try:
        facts = orjson.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", AGAIN).at(str(path)) from None
    if not isinstance(facts, dict) or not isinstance(facts.get("run", {}), dict):
        raise UserError("is not the metadata of embeddings", AGAIN).at(str(path))
    return facts


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
