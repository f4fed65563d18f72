"""Rows of runs and judgements, JSON lines or columns, with the place of each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from types import TracebackType
from typing import Any, Self

import orjson

from structkit.errors import MEND, UserError, missing
from structkit.records.jsonl import BOM, Record, json_kind, not_json
from structkit.records.lines import Block, Lines, maximum_bytes, too_long

Row = tuple[str, str, Any, Record]  # query, document, what is said of both, all that is said


class PlacedLines:
    """The lines of a file, with the number of the last one; `first` is the first with text.

    Errors raised with it get the place of that line.
    """

    first = b""
    line = 0

    def __init__(self, path: str) -> None:
        lines = Lines([path])
        self.file = lines.file
        self._blocks = _filled(lines)
        if block := next(self._blocks, None):
            self._blocks = chain([block], self._blocks)
            text = block.data.lstrip()
            self.first = text.partition(b"\n")[0]
            self.line = block.line + block.data[: -len(text)].count(b"\n") + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, UserError):
            error.at(self.file, self.line)

    def texts(self) -> Iterator[bytes]:
        """The lines that are not blank."""
        for block in self._blocks:
            for self.line, line in _texts(block):  # noqa: B007 the place stays known
                yield line

    def records(self, field: str) -> Iterator[Any]:
        """The JSON values of these lines; where one does not parse, `field` may be the reason."""
        for line in self.texts():
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                if b"NaN" in line:
                    raise UserError(f'field "{field}" is NaN', "compute it again") from None
                raise not_json(error, line) from None
            yield value


def _filled(lines: Lines) -> Iterator[Block]:
    """The blocks with text, without a byte order mark."""
    for block in lines.blocks():
        if block.line == 0:
            block.data = block.data.removeprefix(BOM)
        if block.data and not block.data.isspace():
            yield block


def _texts(block: Block) -> Iterator[tuple[int, bytes]]:
    """The lines of a block that are not blank, with their numbers."""
    most = maximum_bytes()
    for number, line in enumerate(block.lines(), block.line + 1):
        if len(line) > most:
            raise too_long().at(block.file, number)
        if not line.isspace():
            yield number, line


def json_rows(
    rows: PlacedLines, field: str, kinds: tuple[type, ...] = (float, int)
) -> Iterator[Row]:
    """Query id, document id and a field's value of JSON records, and these; ids may be numbers."""
    for record in rows.records(field):
        try:
            query_id, doc_id, value = record["query_id"], record["doc_id"], record[field]
        except (KeyError, TypeError):
            raise _incomplete(record, field) from None
        if type(value) not in kinds:
            raise _not(field, value, "a string" if str in kinds else "a number")
        if type(query_id) is not str:
            query_id = _identifier(query_id, "query_id")
        if type(doc_id) is not str:
            doc_id = _identifier(doc_id, "doc_id")
        yield query_id, doc_id, value, record


def _incomplete(record: object, value: str) -> UserError:
    if not isinstance(record, dict):
        return UserError("the line is not a JSON object", f"give query_id, doc_id and {value}")
    return missing(
        next(name for name in ("query_id", "doc_id", value) if name not in record), record
    )


def _not(field: str, value: object, wanted: str) -> UserError:
    hint = "compute it again: null may be NaN" if value is None else MEND
    return UserError(f'field "{field}" is {json_kind(value)}, not {wanted}', hint)


def _identifier(value: object, field: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise _not(field, value, "a string")


def columns(line: bytes, separator: str | None = None) -> list[str]:
    """The columns of a line of text."""
    try:
        return line.decode("utf-8").rstrip("\r\n").split(separator)
    except UnicodeDecodeError as error:
        raise UserError(
            f"the line is not UTF-8 (byte {error.start + 1})", "convert it with iconv -t utf-8"
        ) from None
