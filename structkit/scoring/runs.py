"""Runs: what was found for each query. Reading, ordering and writing them.

And the rows of files of runs and judgements, JSON lines or columns, with the place of each.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import chain
from math import isfinite
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import orjson

from structkit.errors import MEND, UserError, flag, missing
from structkit.records.jsonl import BOM, Record, json_kind, not_json, not_utf8
from structkit.records.lines import Lines, maximum_bytes, too_long
from structkit.records.output import Output, write_records

Run = dict[str, dict[str, float]]  # query_id -> doc_id -> score
Row = tuple[str, str, Any, Record]  # query, document, what is said of both, all that is said

TREC = "query_id Q0 doc_id rank score tag"


class Hit(NamedTuple):
    """A document, its score, and (with `explain`) the row by which it was found."""

    doc_id: str
    score: float
    best: Record | None = None


def read_run(path: str) -> Run:
    """The run in a file: JSONL records or TREC's six columns, recognized by content.

    Ranks are not read: scores decide, as in trec_eval. A document that is ranked twice for a
    query, a score that is not a finite number and an empty file raise with their place.
    """
    run: Run = {}
    collecting = gc.isenabled()
    gc.disable()  # millions of objects without a cycle: looking for one takes half the time
    try:
        with PlacedLines(path) as rows:
            _add_rows(run, rows)
            if not run:
                raise UserError("holds no results", "search again: it may have been interrupted")
    finally:
        if collecting:
            gc.enable()
    return run


def _add_rows(run: Run, rows: PlacedLines) -> None:
    query, documents = None, {}
    parts = json_rows(rows, "score") if rows.first[:1] == b"{" else trec_rows(rows)
    for query_id, doc_id, score, _ in parts:
        if query_id != query:  # the rows of a query are adjacent
            query, documents = query_id, run.setdefault(query_id, {})
        if doc_id in documents:
            problem = f'document "{doc_id}" is ranked twice for query "{query_id}"'
            raise UserError(problem, "keep one of them")
        if not isfinite(score):
            raise UserError(f'field "score" is {score}', "compute it again: it must be finite")
        documents[doc_id] = score


def trec_rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """The rows of the lines of a TREC run."""
    for query_id, doc_id, score, record in column_rows(lines, 6, 2, 4, f"{TREC}, or JSONL"):
        try:
            yield query_id, doc_id, float(score), record
        except ValueError:
            problem = f'the score is "{score}", not a number'
            raise UserError(problem, f"the columns are {TREC}") from None


def ranking(documents: dict[str, float]) -> list[str]:
    """Document ids from best to worst, as trec_eval orders them.

    Scores count as float32, and equal ones are ordered by descending document id.

    >>> ranking({"a": 1.0, "b": 2.0, "c": 1.0})
    ['b', 'c', 'a']
    """
    with np.errstate(over="ignore"):
        scores = np.fromiter(documents.values(), np.float32, len(documents))
    if (scores[1:] < scores[:-1]).all():
        return list(documents)
    ranked = sorted(zip(scores.tolist(), documents, strict=True), reverse=True)
    return [doc_id for _, doc_id in ranked]


def run_records(query_id: str, ranked: Iterable[Hit]) -> Iterator[Record]:
    """Run records of one query from its hits, best first."""
    for rank, (doc_id, score, best) in enumerate(ranked, 1):
        record = {"query_id": query_id, "doc_id": doc_id, "score": score, "rank": rank}
        yield {**record, "best": best} if best else record


def write_run(records: Iterable[Record], path: str = "-", format: str | None = None) -> None:
    """Write run records as JSONL, or as `trec`, whole or not at all."""
    if format != "trec":
        write_records(records, path)
        return
    with Output(path) as output:
        for record in records:
            output.write(trec_line(record))


def trec_line(record: Record) -> bytes:
    r"""A line of a TREC run; the score keeps all its digits, since six of them create ties.

    >>> trec_line({"query_id": "q", "doc_id": "d", "score": 0.123456789, "rank": 1})
    b'q Q0 d 1 0.123456789 structkit\n'
    """
    query_id, doc_id = record["query_id"], record["doc_id"]
    for identifier in (query_id, doc_id):
        if len(identifier.split()) != 1:
            problem = f'id "{identifier}" is empty or holds a space, which TREC columns cannot'
            raise UserError(problem, f"use {flag('format', 'jsonl')}")
    return f"{query_id} Q0 {doc_id} {record['rank']} {record['score']!r} structkit\n".encode()


class PlacedLines:
    """The lines of a file that are not blank, with the number of the last one; and the first line.

    Errors raised with it get the place of the last line.
    """

    def __init__(self, path: str) -> None:
        lines = Lines([path])
        self.file, self.line = lines.file, 0
        texts = self._read(lines)
        some = (each.removeprefix(BOM) for each in texts)
        self.first = next((each for each in some if each and not each.isspace()), b"")
        self._texts = chain([self.first] if self.first else (), texts)

    def _read(self, lines: Lines) -> Iterator[bytes]:
        most = maximum_bytes()
        for block in lines.blocks():
            for self.line, line in enumerate(block.lines(), block.line + 1):  # noqa: B020 its place
                if len(line) > most:
                    raise too_long().at(block.file, self.line)
                if line and not line.isspace():
                    yield line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, UserError):
            error.at(self.file, self.line)

    def __iter__(self) -> Iterator[bytes]:
        return self._texts

    def records(self, field: str) -> Iterator[Any]:
        """The JSON values of these lines; where one does not parse, `field` may be the reason."""
        for line in self._texts:
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                if b"NaN" in line:
                    raise UserError(f'field "{field}" is NaN', "compute it again") from None
                raise not_json(error, line) from None
            yield value


def json_rows(
    rows: PlacedLines, field: str, kinds: tuple[type, ...] = (float, int)
) -> Iterator[Row]:
    """Query id, document id and a field's value of JSON records, and these; ids may be numbers."""
    for record in rows.records(field):
        try:
            query_id, doc_id, value = record["query_id"], record["doc_id"], record[field]
        except (KeyError, TypeError):
            if not isinstance(record, dict):
                raise UserError("the line is not a JSON object", MEND) from None
            names = ("query_id", "doc_id", field)
            raise missing(next(each for each in names if each not in record), record) from None
        if type(value) not in kinds:
            raise _other_kind(field, value, "a string" if str in kinds else "a number")
        if type(query_id) is not str:
            query_id = _identifier(query_id, "query_id")
        if type(doc_id) is not str:
            doc_id = _identifier(doc_id, "doc_id")
        yield query_id, doc_id, value, record


def _other_kind(field: str, value: object, kind: str) -> UserError:
    return UserError(f'field "{field}" is {json_kind(value)}, not {kind}', MEND)


def _identifier(value: object, field: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise _other_kind(field, value, "a string")


def column_rows(
    lines: Iterable[bytes],
    count: int,
    document: int,
    value: int,
    form: str,
    separator: str | None = None,
) -> Iterator[Row]:
    """The rows of lines of so many columns, the first of them the query's; `form` is a remedy."""
    for line in lines:
        cells = columns(line, separator)
        if len(cells) != count:
            raise UserError(f"the line has {len(cells)} columns, not {count}", f"write {form}")
        yield cells[0], cells[document], cells[value], {}


def columns(line: bytes, separator: str | None = None) -> list[str]:
    """The columns of a line of text."""
    try:
        return line.decode("utf-8").rstrip("\r\n").split(separator)
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
