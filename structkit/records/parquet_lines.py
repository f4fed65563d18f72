"""Parquet as JSON lines: what every command reads."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from structkit.errors import UserError
from structkit.extras import require

BATCH = 1024  # rows held at a time
REMEDY = "it is cut or damaged: copy it again"


class ParquetLines(io.RawIOBase):
    """The rows of a Parquet file as JSON objects, one per line; nulls are left out.

    A pipe is copied to a temporary file first: Parquet is read from its end.
    """

    def __init__(self, handle: BinaryIO, name: str) -> None:
        self.arrow = require("pyarrow", "parquet")
        self.parquet = require("pyarrow.parquet", "parquet")
        self.handle: Any = handle
        self.name = name
        if not handle.seekable():
            self.handle = tempfile.TemporaryFile("w+b", prefix="structkit-parquet-")  # noqa: SIM115
            shutil.copyfileobj(handle, self.handle)
        self._lines, self._rest = self._every(), b""

    def _every(self) -> Iterator[bytes]:
        try:
            for batch in self.parquet.ParquetFile(self.handle).iter_batches(BATCH):
                yield b"".join(map(_line, batch.to_pylist()))
        except (self.arrow.ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(f"cannot be read: {reason}", REMEDY).at(self.name) from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what is next; 0 at the end."""
        while not self._rest:
            block = next(self._lines, None)
            if block is None:
                return 0
            self._rest = block
        taken, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self.handle.close()
        super().close()


def _line(row: dict[str, Any]) -> bytes:
    there = {name: value for name, value in row.items() if value is not None}
    return orjson.dumps(there, str, orjson.OPT_APPEND_NEWLINE)
