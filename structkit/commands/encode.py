"""Turn texts into embeddings with a trained model."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from structkit.embeddings.npy import VectorFiles
from structkit.embeddings.parquet import ParquetFile
from structkit.errors import UserError
from structkit.learning.encode.encoding import Encoding
from structkit.learning.encode.reading import ReadRecord
from structkit.progress import announce, say
from structkit.records.jsonl import Record, shown
from structkit.records.rejects import accepted
from structkit.records.stream import Stream


def encoded(records: Iterable[Record], encoding: Encoding) -> Iterator[Record]:
    """`{id, embedding}` for every record, in input order; texts that were cut are counted.

    An embedding is a list.
    """
    check_output(encoding, "")
    for record in encoding.embeddings(encoding.texts(records)):
        yield {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in record.items()
        }
    encoding.report()


def encode(records: Iterable[Record], *, model: str, side: str, **options: Any) -> Iterator[Record]:
    """The same with the options of `Encoding`, which is made of them."""
    yield from encoded(records, Encoding(model, side, **options))


def write(encoding: Encoding, stream: Stream, *, resume: bool = False) -> None:
    """Encode the stream's records into its output: JSONL, `NAME.npy` with ids and meta, Parquet.

    `resume` goes on where a killed run of the same command stopped (`NAME.npy` only).
    """
    check_output(encoding, stream.output)
    if resume and not stream.output.endswith(".npy"):
        problem = f"--resume is for -o NAME.npy, not -o {stream.output}"
        raise UserError(problem, "name such a file", status=2)
    if resume and encoding.earlier and os.path.realpath(stream.output) == encoding.earlier.place:
        remedy = "write another file with -o, or leave --resume out"
        raise UserError(
            "--resume and --reuse of -o's own file exclude each other", remedy, status=2
        )
    announce(f"encoding {', '.join(map(shown, stream.files or ['-']))} with {encoding.model}")
    if not stream.output.endswith((".npy", ".parquet")):
        stream.run(encoding.texts, encoding.embeddings, label="encode")
    else:
        with stream.reading("encode") as (records, reject):
            texts = accepted(encoding.texts, records, reject)
            source = shown([*stream.files, "-"][0])
            encode_to_file(texts, stream.output, encoding, resume=resume, source=source)
    encoding.report()


def check_output(encoding: Encoding, path: str) -> None:
    """Raise for codes in a file that has no place for them."""
    if encoding.quantize and not path.endswith(".npy"):
        remedy = "write such a file with -o, or leave --quantize out"
        raise UserError("--quantize is for NAME.npy files", remedy, status=2)


def encode_to_file(
    texts: Iterable[ReadRecord],
    path: str,
    encoding: Encoding,
    *,
    resume: bool = False,
    source: str = "",
) -> Record:
    """Write NAME.npy and the files beside it, or NAME.parquet; returns the metadata.

    Files appear only when complete. `texts` is what `encoding.texts` yields, `source` the file to
    name in an error about all of them. Errors: an id with a line break is a `UserError`, and so
    are several fields and no record at all.
    """
    if len(encoding.fields) > 1:
        raise UserError("several --field need JSONL output", "name a .jsonl file with -o", status=2)
    if encoding.downward:
        raise UserError("--downward needs JSONL output", "name a .jsonl file with -o", status=2)
    files = opened(path, encoding, resume=resume)
    with files, resumable(files):
        if isinstance(files, VectorFiles):
            if files.complete:
                return already_whole(files, texts, source)
            texts, digest = taken_up(files, texts, encoding)
        else:
            digest = Digest()
        for rows, embeddings in encoding.windows(texts, digest.add):
            files.add(rows, embeddings)
            files.checkpoint(
                {
                    "records": digest.records,
                    "sha256": digest.hex(),
                    "precision": encoding.precision,
                    "truncation": encoding.truncation.state(),
                }
            )
        if not files.count:
            raise UserError("holds no record to encode", "name a file that has some").at(source)
        meta = encoding.meta()
        run = {name: value for name, value in encoding.run().items() if name not in meta}
        meta["run"] = {
            **run,
            "records": digest.records,
            "sha256": digest.hex(),
            "precision": encoding.precision,
        }
        return files.finish(meta)


def opened(path: str, encoding: Encoding, *, resume: bool) -> VectorFiles | ParquetFile:
    """The output file of that name, opened."""
    if path.endswith(".parquet"):
        return ParquetFile(path)
    parts, fields = bool(encoding.part), bool(encoding.part or encoding.keep)
    run = encoding.run()
    return VectorFiles(
        path,
        chunks=parts,
        fields=fields,
        hashes=True,
        quantize=encoding.quantize,
        run=run,
        resume=resume,
    )


def already_whole(files: VectorFiles, texts: Iterable[ReadRecord], source: str) -> Record:
    """The metadata of files that a run on the same records has finished."""
    meta, digest = files.finish({}), Digest()
    digest.add(texts)
    run = meta["run"]
    if (digest.records, digest.hex()) != (run["records"], run["sha256"]):
        raise UserError(
            f"is complete, and was made from other records than {source or 'these'}",
            "run without --resume to replace it",
        ).at(files.path)
    say(f"{files.path} is complete: {digest.records:,} records; there is nothing left to do")
    return meta


@contextmanager
def resumable(files: VectorFiles | ParquetFile) -> Iterator[None]:
    """Say how to continue a run that a signal ends, where that is possible."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if isinstance(files, VectorFiles) and files.resume and files.state:
            say(f"stopped after {files.state['records']:,} records; add --resume to continue")
        raise


class Digest:
    """How many texts went through, and a hash of all of them."""

    def __init__(self) -> None:
        self.records, self._hash = 0, hashlib.sha256()

    def add(self, texts: Iterable[ReadRecord]) -> None:
        """Count these texts, which come next."""
        for record in texts:
            self.records += 1
            for text in (record.id, *record.texts):
                self._hash.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))

    def hex(self) -> str:
        return self._hash.hexdigest()


def taken_up(
    files: VectorFiles, texts: Iterable[ReadRecord], encoding: Encoding
) -> tuple[Iterator[ReadRecord], Digest]:
    """The texts that are not in the files yet, and the digest of those that are."""
    texts, digest, state = iter(texts), Digest(), files.state
    if state:
        digest.add(islice(texts, state["records"]))
        if (digest.records, digest.hex()) != (state["records"], state["sha256"]):
            raise UserError(
                "the records differ from those that the unfinished run began with",
                "start again without --resume",
            ).at(files.path)
        encoding.precision = state["precision"]
        encoding.truncation.load(state["truncation"])
        say(f"continuing after {state['records']:,} records")
    return texts, digest


def tokens_of_a_batch(value: str) -> int | None:
    """The number of --batch-tokens; None where it is `auto`.

    >>> tokens_of_a_batch("4096"), tokens_of_a_batch("auto")
    (4096, None)
    """
    if value == "auto":
        return None
    if not value.isdecimal() or len(value) > 18 or not int(value):
        raise UserError(
            f"--batch-tokens {value} is neither a number from 1 nor auto",
            "auto is the default",
            status=2,
        )
    return int(value)
