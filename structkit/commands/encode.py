"""Turn texts into embeddings with a model."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from structkit.command import Command
from structkit.embeddings import files_beside
from structkit.errors import UserError, flag
from structkit.learning.encoding.settings import PART_FIELDS, EncodingSettings
from structkit.progress import say
from structkit.records.jsonl import Record, Stage, accepted, input_name
from structkit.records.stream import Options, Stream
from structkit.settings import setting

if TYPE_CHECKING:
    from structkit.embeddings.writing import ParquetFile, VectorFiles
    from structkit.learning.encoding.encoding import Encoding, ReadRecord


@dataclass(frozen=True, kw_only=True)
class Settings(EncodingSettings):
    """Turn texts into embeddings with a model: `id` and `embedding`, in input order.

    A part of a text has `doc_id` and its place: a chunk `start`, `end` (characters) and `lines`, an
    element `xpath`, `start`, `end` and `text`, a node `node`, `span` (words) and `text`.
    """


@dataclass(frozen=True, kw_only=True)
class FileOptions(Options):
    """Settings of the file of embeddings."""

    output: str = setting(
        "-",
        "File to write: NAME.npy (with ids and metadata), .parquet, or JSONL.",
        short="-o",
        writes=True,
    )
    resume: bool = setting(
        False, "Continue where a killed run stopped (NAME.npy only).", group="run"
    )


def encode(settings: Settings) -> Stage:
    """Yield `{id, embedding}` for every record, in input order; cut texts are counted.

    A string is a record with the field that the model reads. An embedding is a list. A part of a
    text has `doc_id` and its place; with several fields, each has its `FIELD_embedding`.
    """
    import numpy as np

    from structkit.learning.encoding.encoding import Encoding

    check_output(settings, "")
    encoding = Encoding(settings)

    def embeddings(texts: Iterable[ReadRecord]) -> Iterator[Record]:
        for record in encoding.embeddings(texts):
            yield {
                name: value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in record.items()
            }
        encoding.report()

    return Stage(encoding.read, embeddings)


def field_of_texts(settings: Settings) -> str:
    """Return the field for texts without a record: the first that is named, or the model's."""
    from structkit.learning.encoding.encoding import metadata_of

    return str([*settings.field, *metadata_of(settings)[f"{settings.as_}_fields"]][0])


def _main(settings: Settings, target: FileOptions) -> None:
    from structkit.learning.encoding.encoding import Encoding

    stream = Stream.of(
        target,
        settings,
        replaced=[settings.reuse],
        together=files_beside(target.output),
        in_place=False,
    )
    check_output(settings, stream.output, resume=target.resume)
    write_embeddings(Encoding(settings), stream, resume=target.resume)


def check_output(settings: EncodingSettings, path: str, *, resume: bool = False) -> None:
    """Raise for settings for which a file of that name has no place."""
    remedy = "write such a file, or leave it out"
    for name, given in (("quantize", settings.quantize), ("resume", resume)):
        if given and not path.endswith(".npy"):
            raise UserError(f"{flag(name)} is for NAME.npy files", remedy, status=2)
    if len(settings.field) > 1 and path.endswith((".npy", ".parquet")):
        raise UserError(f"several {flag('field')} need JSONL output", remedy, status=2)
    if resume and settings.reuse and os.path.realpath(path) == os.path.realpath(settings.reuse):
        problem = f"{flag('resume')} and {flag('reuse')} of {flag('output')}'s own file"
        raise UserError(f"{problem} exclude each other", "leave one of them out", status=2)


def write_embeddings(encoding: Encoding, stream: Stream, *, resume: bool = False) -> None:
    """Encode the stream's records into its output: JSONL, `NAME.npy` with ids and meta, Parquet.

    `resume` goes on where a killed run of the same command stopped (`NAME.npy` only).
    """
    if not stream.output.endswith((".npy", ".parquet")):
        stream.run(Stage(encoding.read, encoding.embeddings), label="encode")
    else:
        with stream.reading("encode") as (records, reject):
            texts = accepted(encoding.read, records, reject)
            source = input_name((stream.files or ["-"])[0])
            encode_to_file(texts, stream.output, encoding, resume=resume, source=source)
    encoding.report()


def encode_to_file(
    texts: Iterable[ReadRecord],
    path: str,
    encoding: Encoding,
    *,
    resume: bool = False,
    source: str = "",
) -> Record:
    """Write NAME.npy and the files beside it, or NAME.parquet, and return the metadata.

    Files appear only when complete. `texts` is what `encoding.read` returns, `source` the file to
    name in an error about all of them. Errors: `UserError` for an id with a line break, and for no
    records.
    """
    digest, texts = Digest(), iter(texts)
    with _open_output(path, encoding, resume=resume) as files:
        if files.complete:
            meta = files.finish({})
            _check_read(digest, texts, meta["run"], path)
            say(f"{path} is complete: {digest.records:,} records; there is nothing left to do")
            return meta
        if state := files.state:
            _check_read(digest, islice(texts, state["records"]), state, path)
            encoding.engine.precision = state["precision"]
            encoding.truncation.merge(state["truncation"])
            say(f"continuing after {state['records']:,} records")
        try:
            for rows, embeddings in encoding.windows(texts, digest.add):
                files.add(rows, embeddings)
                done = {
                    "precision": encoding.engine.precision,
                    "truncation": encoding.truncation.state(),
                }
                files.checkpoint(digest.run() | done)
        except (KeyboardInterrupt, SystemExit):
            if files.state:
                count = f"{files.state['records']:,} records"
                say(f"stopped after {count}; add {flag('resume')} to continue")
            raise
        if not files.count:
            raise UserError("holds no record to encode", "name a file that has some").at(source)
        meta = encoding.meta()
        run = {name: value for name, value in encoding.run().items() if name not in meta}
        run |= {**digest.run(), "precision": encoding.engine.precision}
        return files.finish({**meta, "run": run})


def _open_output(path: str, encoding: Encoding, *, resume: bool) -> VectorFiles | ParquetFile:
    """Open the output file."""
    from structkit.embeddings.writing import ParquetFile, VectorFiles

    if path.endswith(".parquet"):
        return ParquetFile(path)
    settings, part = encoding.settings, encoding.part
    return VectorFiles(
        path,
        chunks=part not in ("", "tokens"),
        counts=part == "tokens",
        fields=bool(settings.keep or PART_FIELDS[part]),
        hashes=True,
        quantize=settings.quantize,
        run=encoding.run(),
        resume=resume,
    )


class Digest:
    """Number and hash of the texts read so far."""

    def __init__(self) -> None:
        self.records, self._hash = 0, hashlib.sha256()

    def add(self, texts: Iterable[ReadRecord]) -> None:
        """Count these texts, which come next."""
        for record in texts:
            self.records += 1
            for text in (record.id, *record.texts):
                self._hash.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))

    def run(self) -> Record:
        """Return the state of a run after the texts read so far."""
        return {"records": self.records, "sha256": self._hash.hexdigest()}


def _check_read(digest: Digest, texts: Iterable[ReadRecord], state: Record, path: str) -> None:
    """Read again the texts of a run's `state`. Errors: the texts differ."""
    digest.add(texts)
    if digest.run() != {name: state[name] for name in digest.run()}:
        problem = "the records differ from those that the run began with"
        remedy = f"start again without {flag('resume')}"
        raise UserError(problem, remedy).at(path)


COMMAND = Command(
    encode,
    Settings,
    _main,
    also=(FileOptions,),
    stage=encode,
    texts=field_of_texts,
    reads="`query` or `positive`, `code`, `tagged`, `text` …, which the model and {as_} choose",
    writes=(
        "`id`, `embedding`, and the fields of {keep}; for several fields: `FIELD_embedding`; "
        "for a part: `doc_id`, and `start`, `end`, `lines`, `xpath`, `node`, `span`, `text`"
    ),
    examples="""
structkit encode -m models/seal --as document variants.jsonl -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --reuse pages.npy -o pages.npy
structkit encode -m models/seal --as document variants.jsonl --quantize int8 -o codes.npy
structkit encode -m models/seal --as query pages.jsonl -o queries.jsonl
""",
)
