"""Turn texts into embeddings with a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from structkit.errors import UserError, flag
from structkit.learning.encoding.settings import EncodingSettings
from structkit.processes import check_ray
from structkit.progress import announce
from structkit.records.jsonl import Record, accepted
from structkit.records.lines import shown
from structkit.records.stream import Options, Stream, ray_setting
from structkit.settings import Command, setting

if TYPE_CHECKING:
    from structkit.learning.encoding.encoding import Encoding


@dataclass(frozen=True, kw_only=True)
class Settings(EncodingSettings):
    """Turn texts into embeddings with a model: `id` and `embedding`, in input order.

    A part has `doc_id` and its place: a chunk has `start`, `end` (characters) and `lines`, an
    element `xpath`, `start`, `end` and `text`, a node `node`, `span` (words) and `text`.
    """

    ray: str | None = ray_setting(excludes="reuse")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ray is None:
            return
        check_ray(self.ray)
        several = f"several {flag('field')}" if len(self.field) > 1 else ""
        if self.device not in (None, "cpu") or several:
            problem = f"{flag('ray')} and {several or flag('device', self.device)}"
            raise UserError(f"{problem} exclude each other", "leave one of them out", status=2)

    @cached_property
    def encoding(self) -> Encoding:
        """The model, opened, here or in a cluster."""
        from structkit.learning.encoding.encoding import Encoding

        if self.ray is None:
            return Encoding(self)
        from structkit.learning.encoding.on_ray import encoding_over

        return encoding_over(self.ray, self)


@dataclass(frozen=True, kw_only=True)
class Target(Options):
    """Where embeddings are written."""

    output: str = setting(
        "-", "NAME.npy (with ids and meta), .parquet, or JSONL.", short="-o", writes=True
    )
    resume: bool = setting(False, "NAME.npy: continue where a killed run stopped.", group="run")


def encode(records: Iterable[Record], settings: Settings) -> Iterator[Record]:
    """`{id, embedding}` for every record, in input order; texts that were cut are counted.

    A string is a record with the field that the model reads. An embedding is a list. A part of a
    text has `doc_id` and its place; with several fields, each has its `FIELD_embedding`.
    """
    import numpy as np

    check_output(settings, "")
    encoding = settings.encoding
    for record in encoding.embeddings(encoding.texts(records)):
        yield {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in record.items()
        }
    encoding.report()


def _main(settings: Settings, target: Target) -> None:
    stream = Stream.of(
        target,
        settings,
        replaced=[settings.reuse],
        others=(".npy", ".parquet"),
        in_place=False,
    )
    check_output(settings, stream.output, resume=target.resume)
    write(settings.encoding, stream, resume=target.resume)


def check_output(settings: EncodingSettings, path: str, *, resume: bool = False) -> None:
    """Raise for settings for which a file of that name has no place."""
    npy, lines = path.endswith(".npy"), not path.endswith((".npy", ".parquet"))
    if settings.quantize and not npy:
        remedy = f"write such a file with {flag('output')}, or leave {flag('quantize')} out"
        raise UserError(f"{flag('quantize')} is for NAME.npy files", remedy, status=2)
    if len(settings.field) > 1 and not lines:
        remedy = f"name a .jsonl file with {flag('output')}"
        raise UserError(f"several {flag('field')} need JSONL output", remedy, status=2)
    if resume and not npy:
        problem = (
            f"{flag('resume')} is for {flag('output', 'NAME.npy')}, not {flag('output', path)}"
        )
        raise UserError(problem, "name such a file", status=2)
    if resume and settings.reuse and os.path.realpath(path) == os.path.realpath(settings.reuse):
        problem = f"{flag('resume')} and {flag('reuse')} of {flag('output')}'s own file"
        remedy = f"write another file with {flag('output')}, or leave {flag('resume')} out"
        raise UserError(f"{problem} exclude each other", remedy, status=2)


def write(encoding: Encoding, stream: Stream, *, resume: bool = False) -> None:
    """Encode the stream's records into its output: JSONL, `NAME.npy` with ids and meta, Parquet.

    `resume` goes on where a killed run of the same command stopped (`NAME.npy` only).
    """
    from structkit.learning.encoding.files import encode_to_file

    model, files = encoding.settings.model, stream.files or ["-"]
    announce(f"encoding {', '.join(map(shown, files))} with {model}")
    if not stream.output.endswith((".npy", ".parquet")):
        stream.run(encoding.texts, encoding.embeddings, label="encode")
    else:
        with stream.reading("encode") as (records, reject):
            texts = accepted(encoding.texts, records, reject)
            source = shown(files[0])
            encode_to_file(texts, stream.output, encoding, resume=resume, source=source)
    encoding.report()


COMMAND = Command(
    encode,
    Settings,
    _main,
    also=(Target,),
    texts=lambda settings: settings.encoding.first_field,
    reads="`query` or `positive`, `code`, `tagged`, `text` …: the model says which, by --as",
    writes=(
        "`id`, `embedding`, and the fields of --keep; of several fields: `FIELD_embedding`; "
        "of a part: `doc_id`, and `start`, `end`, `lines`, `xpath`, `node`, `span`, `text`"
    ),
    examples="""
structkit encode -m models/seal --as document variants.jsonl -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --reuse pages.npy -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --quantize int8 -o codes.npy
structkit encode -m models/seal --as query pages.jsonl -o queries.jsonl
""",
)
