"""Relevance judgements: JSONL, TREC or BEIR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.scoring.gains import Gains
from structkit.scoring.rows import PlacedLines, Row, columns, json_rows

Qrels = dict[str, dict[str, int]]  # query_id -> doc_id -> relevance
LineRange = tuple[int, int]  # the first and the last line, from 1
FORMS = "JSONL records, TREC's `query_id 0 doc_id relevance`, or BEIR's .tsv with its header"


class Judgement(NamedTuple):
    """How relevant a document, or some of its lines, is to a query."""

    query_id: str
    doc_id: str
    relevance: int
    lines: LineRange | None = None


def read_qrels(path: str, gains: Gains | None = None) -> Qrels:
    """The judgements in a file: JSONL records, TREC's four columns or BEIR's three under a header.

    With `gains`, the field `label` of JSONL records says what a document is worth, and
    `relevance` is not read. A label without a gain, a document that is judged twice for a query,
    a relevance that is not a whole number and an empty file raise with their place.
    """
    qrels: Qrels = {}
    with PlacedLines(path) as rows:
        for query_id, doc_id, value, _ in _rows(rows, gains):
            judged = qrels.setdefault(query_id, {})
            if doc_id in judged:
                raise _twice(query_id, doc_id)
            judged[doc_id] = _relevance(value)
        if not qrels:
            raise _none()
    return qrels


def read_judgements(path: str, gains: Gains | None = None) -> Iterator[Judgement]:
    """As `read_qrels`, but JSONL records may judge only the lines `start_line` to `end_line`."""
    seen: set[tuple[str, str, LineRange | None]] = set()
    with PlacedLines(path) as rows:
        for query_id, doc_id, value, record in _rows(rows, gains):
            span = _span(record)
            if (query_id, doc_id, span) in seen:
                raise _twice(query_id, doc_id)
            seen.add((query_id, doc_id, span))
            yield Judgement(query_id, doc_id, _relevance(value), span)
        if not seen:
            raise _none()


def _twice(query_id: str, doc_id: str) -> UserError:
    return UserError(
        f'document "{doc_id}" is judged twice for query "{query_id}"', "keep one of them"
    )


def _none() -> UserError:
    return UserError("holds no judgements", f"give {FORMS}")


def _rows(rows: PlacedLines, gains: Gains | None) -> Iterator[Row]:
    """The rows, from whatever the file holds."""
    if rows.first.startswith(b"{"):
        return _gained(rows, gains) if gains else json_rows(rows, "relevance")
    if gains and rows.first:
        raise UserError(
            "the judgements have no labels",
            f"give {flag('gains')} JSONL with query_id, doc_id, label",
        )
    if columns(rows.first) == ["query-id", "corpus-id", "score"]:
        return _column_rows(islice(rows.texts(), 1, None), "\t", 3, 1)
    return _column_rows(rows.texts(), None, 4, 2)


def _span(record: Record) -> LineRange | None:
    ends = record.get("start_line"), record.get("end_line")
    if ends == (None, None):
        return None
    first, last = ends
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        raise UserError(
            f"start_line and end_line are {first!r} and {last!r}",
            "write the first and the last judged line, counted from 1",
        )
    return first, last


def _gained(rows: PlacedLines, gains: Gains) -> Iterator[Row]:
    for query_id, doc_id, label, record in json_rows(rows, "label", (str,)):
        if label not in gains:
            raise UserError(f'label "{label}" has no gain', f"there are: {', '.join(gains)}")
        yield query_id, doc_id, gains[label], record


def _relevance(relevance: float | str) -> int:
    if type(relevance) is int:
        return relevance
    try:
        if int(relevance) == float(relevance):
            return int(relevance)
    except (ValueError, OverflowError):
        pass
    raise UserError(
        f"the relevance is {relevance!r}, not a whole number", "write 0 if not relevant"
    )


def _column_rows(
    lines: Iterable[bytes], separator: str | None, count: int, document: int
) -> Iterator[Row]:
    for line in lines:
        cells = columns(line, separator)
        if len(cells) != count:
            raise UserError(f"the line has {len(cells)} columns, not {count}", f"give {FORMS}")
        yield cells[0], cells[document], cells[-1], {}
