"""Which files belong together: NAME.meta.json has the fingerprints of those beside it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from io import BufferedRandom, BufferedReader

from structkit.embeddings.quantized import SCALES
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read

NUMBERS = (".npy", SCALES)
PIECES, PIECE = 256, 4096  # how many pieces of so many bytes stand for numbers


def fingerprint(handle: BufferedReader | BufferedRandom, ending: str) -> str:
    """A hash of a file: of all that is text, and of pieces spread evenly over numbers.

    Those may be larger than memory, and those of another run differ nearly everywhere.
    """
    handle.seek(0)
    if ending not in NUMBERS:
        return hashlib.file_digest(handle, "sha256").hexdigest()
    size = os.fstat(handle.fileno()).st_size
    digest = hashlib.sha256(str(size).encode())
    last = max(0, size - PIECE)
    for start in sorted({last * number // (PIECES - 1) for number in range(PIECES)}):
        digest.update(os.pread(handle.fileno(), PIECE, start))
    return digest.hexdigest()


def check_together(path: str, meta: Record, endings: Iterable[str]) -> None:
    """Raise if a file beside `path` (NAME.npy) is not the one that the metadata was written with.

    Metadata that structkit did not write has no fingerprints.
    """
    stem, known = path.removesuffix(".npy"), meta.get("files", {})
    for ending in endings if "files" in meta else ():
        try:
            with open(stem + ending, "rb") as handle:
                same = isinstance(known, dict) and known.get(ending) == fingerprint(handle, ending)
        except OSError as error:
            raise cannot_read(error).at(stem + ending) from None
        if not same:
            problem = f"does not belong to {stem}.meta.json: it was written by another run"
            remedy = f"encode again ({flag('resume')} completes a run that was killed)"
            raise UserError(problem, remedy).at(stem + ending)
