"""What a program gives in place of files: dicts as lines of JSON, in memory or in a file."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import quote, unquote

from structkit.errors import UserError
from structkit.paths import Named
from structkit.records.jsonl import Record
from structkit.records.lines import Block, Lines
from structkit.records.output import dump

Rows: TypeAlias = "Iterable[Mapping[str, Any]]"  # a DataFrame too
Names: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
SEVERAL = 256  # dicts in a block: what a parser is given at a time


def rows(given: Any) -> Any:
    """What was given; a DataFrame of pandas or polars as its rows, a dict each."""
    if callable(dicts := getattr(given, "to_dicts", None)):  # polars
        return dicts()
    if hasattr(given, "columns") and callable(dicts := getattr(given, "to_dict", None)):
        return dicts("records")
    return given


def texts_as(field: str, given: Any, parameter: str) -> Iterator[Any]:
    """Dicts as they are, and strings as dicts with that field. Errors: one string alone."""
    if isinstance(given, str):
        problem = f"{parameter} is {given!r}, not a list"
        raise UserError(problem, f"give [{given!r}]", status=2)
    return ({field: each} if isinstance(each, str) else each for each in rows(given))


class Given(Lines):
    """Dicts as the lines of a file, so that they are numbered, checked and named as its records.

    Their numbers are the places in errors: `records:3: …`.
    """

    def __init__(self, records: Rows, name: str = "records") -> None:
        self.files, self.file, self.total = [name], name, None
        self.line = self.number = self.bytes = 0
        self.records = rows(records)

    def blocks(self, least: int = 1) -> Iterator[Block]:
        records = iter(self.records)
        while some := list(islice(records, SEVERAL)):
            first = self.line + 1
            yield from self._counted(
                b"".join(self._dumped(record, line) for line, record in enumerate(some, first))
            )

    def _dumped(self, record: object, line: int) -> bytes:
        if not isinstance(record, Mapping):
            problem = f"a record is {type(record).__name__}, not a dict"
            raise UserError(problem, "give dicts").at(self.file, line)
        try:
            return dump(dict(record))
        except UNFIT:
            odd = [name for name in record if not _fits({name: record[name]})]
            kinds = ", ".join(f"{name!r} ({type(record[name]).__name__})" for name in odd)
            problem = f"JSON has no form for the record's {kinds}"
            raise UserError(problem, "convert it, or leave it out").at(self.file, line) from None


UNFIT = (TypeError, AttributeError, UnicodeEncodeError)


def _fits(record: Record) -> bool:
    try:
        dump(record)
    except UNFIT:
        return False
    return True


class Held:
    """Files that hold what a program has in memory, while a command reads them."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="structkit-")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.folder.cleanup()
        if isinstance(error, UserError):
            file = re.compile(re.escape(self.folder.name) + r"/[^/]*/(.*?)\.jsonl")
            error.file, error.problem = (
                file.sub(lambda found: unquote(found[1]), text)  # the name of the parameter
                for text in (error.file, error.problem)
            )

    def files(self, given: Mapping[str, Names | Rows] | Names | Rows, parameter: str) -> list[str]:
        """The names that were given, or one of a new file with the records; of a dict each."""
        if isinstance(given, Mapping):
            return [Named(self.file(each, str(name)), str(name)) for name, each in given.items()]
        return self._held(given, parameter)

    def file(self, given: Names | Rows, parameter: str) -> str:
        """The same, where one file is wanted."""
        return self._held(given, parameter)[0]

    def _held(self, given: Names | Rows, parameter: str) -> list[str]:
        if isinstance(given, str | os.PathLike):
            return [os.fspath(given)]
        records = iter(rows(given))
        first = next(records, None)
        if isinstance(first, str | os.PathLike):
            return [os.fspath(first), *map(os.fspath, records)]
        own = tempfile.mkdtemp(dir=self.folder.name)  # two may have one name
        path = Path(own, quote(parameter, safe="") + ".jsonl")
        with path.open("wb") as file:
            every = [] if first is None else _again(first, records)
            file.writelines(block.data for block in Given(every, parameter).blocks())
        return [str(path)]


def _again(first: Any, rest: Iterator[Any]) -> Iterator[Record]:
    yield first
    yield from rest
