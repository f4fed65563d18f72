"""Runs, read and ordered; the rows of files of runs and judgements, JSON lines or columns.

Tests: tests/commands/test_score.py.
"""

import gc
from collections.abc import Iterable, Iterator
from itertools import chain
from math import isfinite
from typing import Any, Self

import numpy as np
import orjson

from structkit.errors import RECORD_REMEDY, UserError, missing
from structkit.records.jsonl import (
    Block,
    Lines,
    Record,
    json_kind,
    max_record_bytes,
    not_json,
    not_utf8,
    too_long,
)

Run = dict[str, dict[str, float]]  # query_id -> doc_id -> score
DocumentRow = tuple[str, str, Any, Record]  # query, document, value, and the whole record

TREC_COLUMNS = "query_id Q0 doc_id rank score tag"


def read_run(path: str) -> Run:
    """Read the run in a file: JSONL records or TREC's six columns, recognized by content.

    Ranks are not read: scores decide, as in trec_eval, which also ignores further columns and lines
    that start with #. Errors, with their place: a document ranked twice for a query, a score that
    is not a finite number, an empty file.
    """
    collecting = gc.isenabled()
    gc.disable()  # millions of objects without a cycle: looking for one takes half the time
    try:
        with PlacedLines(path) as rows:
            if rows.first.startswith(b"{"):
                run = scores_by_query(rows)
            else:
                run = rows_by_query(trec_rows(rows), "ranked")
            if not run:
                raise UserError("holds no results", "search again: it may have been interrupted")
    finally:
        if collecting:
            gc.enable()
    return run


def trec_rows(lines: Iterable[bytes]) -> Iterator[DocumentRow]:
    """Yield the rows of the lines of a TREC run."""
    for query_id, doc_id, score, record in column_rows(
        lines, 6, 2, 4, f"{TREC_COLUMNS}, or JSONL", more=True
    ):
        try:
            number = float(score.replace("_", "?"))  # Python's 1_0 is no number elsewhere
        except ValueError:
            raise UserError(
                f'the score is "{score}", not a number', f"the columns are {TREC_COLUMNS}"
            ) from None
        if not isfinite(number):  # JSON has no such numbers
            raise UserError(f'field "score" is {number}', "compute it again: it must be finite")
        yield query_id, doc_id, number, record


def ranking(documents: dict[str, float]) -> list[str]:
    """Return document ids from best to worst; ties by descending id, as in trec_eval.

    >>> ranking({"a": 1.0, "b": 2.0, "c": 1.0})
    ['b', 'c', 'a']
    """
    scores = np.fromiter(documents.values(), np.float64, len(documents))
    if (scores[1:] < scores[:-1]).all():
        return list(documents)
    ranked = sorted(zip(scores.tolist(), documents, strict=True), reverse=True)
    return [doc_id for _, doc_id in ranked]


def trec_eval_scores(documents: dict[str, float]) -> dict[str, float]:
    """Return scores that trec_eval orders as `ranking` does, in float32.

    They are the same scores, or ranks where float32 makes different ones equal.

    >>> trec_eval_scores({"a": 1700000002.0, "b": 1700000001.0})
    {'a': -1.0, 'b': -2.0}
    """
    with np.errstate(over="ignore"):
        single = np.fromiter(documents.values(), np.float32, len(documents))
    if (single[1:] < single[:-1]).all():
        return documents
    scores = np.fromiter(documents.values(), np.float64, len(documents))
    if (single == scores).all() or len(np.unique(single)) == len(np.unique(scores)):
        return documents
    return {doc_id: -float(rank) for rank, doc_id in enumerate(ranking(documents), 1)}


class PlacedLines(Lines):
    """The lines of a file that are not blank, and the first of them that is no comment (`#`).

    Errors raised with it get the place of the last line.
    """

    def __init__(self, path: str) -> None:
        super().__init__([path])
        self.first = b""
        blocks = super().blocks()
        read_blocks = list[Block]()
        for block in blocks:
            read_blocks.append(block)
            row_lines = (line for line in block.lines() if not line.isspace() and line[:1] != b"#")
            if first := next(row_lines, b""):
                self.first = first
                break
        self._blocks = chain(read_blocks, blocks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, *_: Any) -> None:
        if isinstance(error, UserError):
            error.at(self.file, self.line)

    def blocks(self) -> Iterator[Block]:
        return self._blocks

    def __iter__(self) -> Iterator[bytes]:
        return (line for line in super().__iter__() if not line.isspace())


def scores_by_query(rows: PlacedLines) -> Run:
    """Return the scores of JSON records for each query and document. Errors: one has two.

    Simple lines are read here, with no call per line except the parser's: a generator per step
    would take a quarter of the time.
    """
    run: Run = {}
    query = None
    documents = dict[str, float]()
    loads = orjson.loads
    max_bytes = max_record_bytes()
    for block in rows.blocks():
        lines_fit = len(block.data) <= max_bytes
        for rows.line, line in enumerate(block.lines(), block.line + 1):  # noqa: B020 its place
            try:
                record = loads(line)
                query_id, doc_id, score = record["query_id"], record["doc_id"], record["score"]
                simple = lines_fit and type(query_id) is type(doc_id) is str
                simple = simple and type(score) in (float, int)
            except (ValueError, LookupError, TypeError):
                simple = False
            if not simple:
                if line.isspace():
                    continue
                if len(line) > max_bytes:
                    raise too_long()
                query_id, doc_id, score, _ = json_row(line, "score")
            if query_id != query:  # the rows of a query are adjacent
                query, documents = query_id, run.setdefault(query_id, {})
            if doc_id in documents:
                raise repeated_document(query_id, doc_id, "ranked")
            documents[doc_id] = score
    return run


def rows_by_query(rows: Iterable[DocumentRow], what: str) -> dict[str, dict[str, Any]]:
    """Return the value of rows for each query and document. Errors: one has two."""
    values: dict[str, dict[str, Any]] = {}
    for query_id, doc_id, value, _ in rows:
        documents = values.setdefault(query_id, {})
        if doc_id in documents:
            raise repeated_document(query_id, doc_id, what)
        documents[doc_id] = value
    return values


def repeated_document(query_id: str, doc_id: str, what: str) -> UserError:
    """Return the error for a document that a file has twice for a query."""
    return UserError(
        f'document "{doc_id}" is {what} twice for query "{query_id}"', "keep one of them"
    )


def json_row(line: bytes, field: str) -> DocumentRow:
    """Return query id, document id and a field's value of a JSON record, and it."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise not_json(error, line) from None
    try:
        query_id, doc_id, value = record["query_id"], record["doc_id"], record[field]
    except (KeyError, TypeError):
        if not isinstance(record, dict):
            raise UserError("the line is not a JSON object", RECORD_REMEDY) from None
        names = ("query_id", "doc_id", field)
        raise missing(next(name for name in names if name not in record), record) from None
    kinds = (str,) if field == "label" else (float, int)
    if type(value) not in kinds:
        raise _other_kind(field, value, "a string" if str in kinds else "a number")
    return _id_text(query_id, "query_id"), _id_text(doc_id, "doc_id"), value, record


def _other_kind(field: str, value: object, kind: str) -> UserError:
    return UserError(f'field "{field}" is {json_kind(value)}, not {kind}', RECORD_REMEDY)


def _id_text(value: object, field: str) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise _other_kind(field, value, "a string")


def column_rows(
    lines: Iterable[bytes],
    count: int,
    document: int,
    value: int,
    form: str,
    separator: str | None = None,
    *,
    more: bool = False,
) -> Iterator[DocumentRow]:
    """Yield the rows of lines of `count` columns, or `more`; the first column is the query.

    `form` is a remedy. Without a separator, columns are TREC's, whose lines may be comments.
    """
    for line in lines:
        cells = split_columns(line, separator)
        if separator is None and cells[0][0] == "#":
            continue
        if len(cells) < count or (len(cells) > count and not more):
            raise UserError(f"the line has {len(cells)} columns, not {count}", f"write {form}")
        yield cells[0], cells[document], cells[value], {}


def split_columns(line: bytes, separator: str | None = None) -> list[str]:
    """Return the columns of a line of text; without a separator, split at white space of ASCII."""
    try:
        text = line.decode("utf-8")
        if separator or line.isascii():
            return text.rstrip("\r\n").split(separator)
        return [cell.decode() for cell in line.split()]
    except UnicodeDecodeError as error:
        raise not_utf8(error) from None
