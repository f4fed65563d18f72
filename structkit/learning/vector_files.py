"""Embeddings on disk: NAME.npy, NAME.ids.txt, NAME.meta.json, written as they come."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy
from numpy.lib import format as npy
from numpy.typing import NDArray

from structkit.errors import UserError
from structkit.jsonl import Record
from structkit.learning.model_folder import write_json

# room for any number of rows: the header is written again when their count is known
HEADER = 128


class VectorFiles:
    """Three files that appear together when all vectors are there; memory does not grow.

    Errors: `UserError` where a file cannot be written or an id holds a line break.
    """

    def __init__(self, path: str) -> None:
        name = path.removesuffix(".npy")
        self.targets = [Path(name + ending) for ending in (".npy", ".ids.txt", ".meta.json")]
        self._partial = [
            path.with_name(f".{path.name}.{os.getpid()}.partial") for path in self.targets
        ]
        self.count = self.dim = 0
        try:
            self._vectors = self._partial[0].open("wb", buffering=1 << 20)
            self._ids = self._partial[1].open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise UserError(f"cannot be written: {error.strerror}").at(path) from None
        self._vectors.write(b"\0" * HEADER)

    def __enter__(self) -> VectorFiles:
        return self

    def add(self, ids: Sequence[str], embeddings: NDArray[numpy.float32]) -> None:
        """Append vectors (n, dim) and their ids."""
        for name in ids:
            if len(name.splitlines()) > 1 or name != name.strip("\r\n"):
                raise UserError(f"id {name!r} holds a line break", "write JSONL, or change the id")
        self.dim = embeddings.shape[1]
        self.count += len(ids)
        self._vectors.write(numpy.ascontiguousarray(embeddings, "<f4").tobytes())
        self._ids.writelines(f"{name}\n" for name in ids)

    def finish(self, meta: Record) -> Record:
        """Complete the files and give them their names; the meta data as written."""
        if not self.count:
            raise UserError("there are no records, and no vectors to write")
        meta = {**meta, "count": self.count, "dim": self.dim, "dtype": "float32"}
        self._vectors.seek(0)
        self._vectors.write(header(self.count, self.dim))
        self._vectors.close()
        self._ids.close()
        write_json(self._partial[2], meta)
        for partial, target in zip(self._partial, self.targets, strict=True):
            os.replace(partial, target)
        return meta

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._vectors.close()
        self._ids.close()
        for partial in self._partial:
            partial.unlink(missing_ok=True)


def header(count: int, dim: int) -> bytes:
    """The header of a .npy file of float32 (count, dim), padded to `HEADER` bytes.

    >>> len(header(10**12, 4096))
    128
    """
    fields = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, {dim}), }}"
    body = fields.ljust(HEADER - 11) + "\n"
    return npy.magic(1, 0) + len(body).to_bytes(2, "little") + body.encode("ascii")
