"""Writing records: JSONL to a file that appears whole or not at all, or to stdout."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, cast

import orjson

from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.lines import BUFFER
from structkit.records.whole import WholeFile, cannot_write, keep_together

# numbers of 32 bits in their shortest form: half the bytes, and the same when read
LINE = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY


def dump(record: Record) -> bytes:
    r"""The line of a record.

    >>> dump({"id": "é", "number": 2**70})
    b'{"id":"\xc3\xa9","number":1180591620717411303424}\n'
    """
    try:
        return orjson.dumps(record, option=LINE)
    except TypeError:  # an integer beyond 64 bits
        line = json.dumps(
            record, ensure_ascii=False, separators=(",", ":"), default=lambda row: row.tolist()
        )
        return line.encode() + b"\n"


class Output:
    """A file that appears whole or not at all, or stdout (`-`); `flag` is the one that names it."""

    def __init__(self, path: str = "-", flag: str = "-o") -> None:
        self.path, self.flag = path, flag
        self.whole: WholeFile | None = None
        try:
            self.handle = self._open()
        except OSError as error:
            raise self._cannot_write(error) from None

    def _open(self) -> IO[bytes]:
        if self.path == "-":
            # a person at a terminal sees each record at once, a pipe gets blocks
            return open(1, "wb", buffering=0 if os.isatty(1) else BUFFER, closefd=False)
        if os.path.isdir(self.path):
            raise UserError("is a folder", f"name a file with {self.flag}").at(self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            return open(self.path, "wb", buffering=BUFFER)  # a device or a named pipe
        self.whole = WholeFile(self.path)
        if self.whole.target.endswith(".gz"):
            # no name and no time inside: the same records give the same bytes
            return cast(IO[bytes], gzip.GzipFile("", "wb", 6, self.whole.handle, 0))
        return self.whole.handle

    def write(self, data: bytes) -> None:
        try:
            self.handle.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._cannot_write(error) from None

    def write_records(self, records: Iterable[Record] | Iterable[bytes]) -> None:
        """Write records, one per line; or lines of records as they are."""
        write, dumps, line_end = self.handle.write, orjson.dumps, LINE
        for record in records:
            try:
                line = dumps(record, None, line_end)
            except TypeError:
                line = record if isinstance(record, bytes) else dump(record)
            try:  # not around the loop: an error that `records` raises is not about the output
                write(line)
            except BrokenPipeError:
                raise
            except OSError as error:
                raise self._cannot_write(error) from None

    def flush(self) -> None:
        """Hand what was written to the system, so that a full disk is known now."""
        try:
            self.handle.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> UserError:
        place = "stdout" if self.path == "-" else self.path
        return cannot_write(error, flag=self.flag).at(place)

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            self.handle.close()  # flushes, so that stdout ends with a whole record
            if self.whole and kind is None and not self.whole.kept:
                self.whole.keep()
        except OSError as problem:
            if kind is None:
                if isinstance(problem, BrokenPipeError):
                    raise
                raise self._cannot_write(problem) from None
        finally:
            if self.whole:
                self.whole.drop()


def name_together(outputs: Iterable[Output]) -> None:
    """Give files that belong together their names at once; no kill leaves old and new ones."""
    files = []
    for output in outputs:
        try:
            output.handle.close()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(error, flag=output.flag).at(output.path) from None
        if output.whole:
            files.append(output.whole)
    keep_together(files)


def write_records(records: Iterable[Record], path: str = "-") -> None:
    """Write records as JSONL to a file, whole or not at all, or to stdout."""
    with Output(path) as output:
        output.write_records(records)


def write_summary(record: Record) -> None:
    """Write what a command says of its complete output to stdout, if that is open."""
    if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
        write_records([record])


def write_json(file: Path, content: object) -> None:
    """Write a JSON file that people can read too: indented, with a final newline."""
    file.write_bytes(indented(content))


def indented(content: object) -> bytes:
    """JSON that people can read too, with a final newline."""
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
