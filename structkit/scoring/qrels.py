"""Relevance judgements: JSONL, TREC or BEIR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from structkit.errors import UserError
from structkit.records.jsonl import Lines
from structkit.scoring.gains import Gains
from structkit.scoring.runs import columns, content, json_rows

Qrels = dict[str, dict[str, int]]  # query_id -> doc_id -> relevance
FORMS = "JSONL records, TREC's `query_id 0 doc_id relevance`, or BEIR's .tsv with its header"


def read_qrels(path: str, gains: Gains | None = None) -> Qrels:
    """The judgements in a file: JSONL records, TREC's four columns or BEIR's three under a header.

    With `gains`, the field `label` of JSONL records says what a document is worth, and
    `relevance` is not read. A label without a gain, a document that is judged twice for a query,
    a relevance that is not a whole number and an
    empty file raise with their place.
    """
    lines = Lines([path])
    try:
        rows = content(lines)
        first = next(rows, None)
        if first is None:
            raise UserError("holds no judgements", f"give {FORMS}")
        if first.startswith(b"{"):
            every = chain([first], rows)
            return _qrels(_gained(every, gains) if gains else json_rows(every, "relevance"))
        if gains:
            raise UserError(
                "the judgements have no labels", "--gains needs JSONL with query_id, doc_id, label"
            )
        if columns(first) == ["query-id", "corpus-id", "score"]:
            return _qrels(_column_rows(rows, "\t", 3, 1))
        return _qrels(_column_rows(chain([first], rows), None, 4, 2))
    except UserError as error:
        raise error.at(lines.file, lines.line) from None


def _qrels(rows: Iterable[tuple[str, str, float | str]]) -> Qrels:
    qrels: Qrels = {}
    for query_id, doc_id, relevance in rows:
        documents = qrels.setdefault(query_id, {})
        if doc_id in documents:
            raise UserError(
                f'document "{doc_id}" is judged twice for query "{query_id}"', "keep one of them"
            )
        documents[doc_id] = _relevance(relevance)
    return qrels


def _gained(lines: Iterable[bytes], gains: Gains) -> Iterator[tuple[str, str, int]]:
    for query_id, doc_id, label in json_rows(lines, "label", (str,)):
        if label not in gains:
            raise UserError(f'label "{label}" has no gain', f"there are: {', '.join(gains)}")
        yield query_id, doc_id, gains[label]


def _relevance(relevance: float | str) -> int:
    try:
        if int(relevance) == float(relevance):
            return int(relevance)
    except (ValueError, OverflowError):
        pass
    raise UserError(f"the relevance is {relevance!r}, not a whole number", "0 is not relevant")


def _column_rows(
    lines: Iterable[bytes], separator: str | None, count: int, document: int
) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        cells = columns(line, separator)
        if len(cells) != count:
            raise UserError(f"the line has {len(cells)} columns, not {count}", f"give {FORMS}")
        yield cells[0], cells[document], cells[-1]
