"""Embeddings into NAME.npy or NAME.parquet, also by a run that goes on where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from structkit.embeddings.writing import ParquetFile, VectorFiles
from structkit.errors import UserError, flag
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.reading import ReadRecord
from structkit.progress import say
from structkit.records.jsonl import Record


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
    is no record at all.
    """
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
    settings = encoding.settings
    return VectorFiles(
        path,
        chunks=bool(settings.part),
        fields=bool(settings.part or settings.keep),
        hashes=True,
        quantize=settings.quantize,
        run=encoding.run(),
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
            f"run without {flag('resume')} to replace it",
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
            done = f"{files.state['records']:,} records"
            say(f"stopped after {done}; add {flag('resume')} to continue")
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
                f"start again without {flag('resume')}",
            ).at(files.path)
        encoding.precision = state["precision"]
        encoding.truncation.load(state["truncation"])
        say(f"continuing after {state['records']:,} records")
    return texts, digest
