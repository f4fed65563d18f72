"""Runs: what was found for each query. Reading, ordering and writing them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import NamedTuple

import numpy as np

from structkit.errors import UserError, flag
from structkit.records.jsonl import Record
from structkit.records.output import Output, write_records
from structkit.scoring.rows import PlacedLines, Row, columns, json_rows

Run = dict[str, dict[str, float]]  # query_id -> doc_id -> score

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
    finally:
        if collecting:
            gc.enable()
    if not run:
        raise UserError("holds no results", "search again: it may have been interrupted").at(
            rows.file
        )
    return run


def _add_rows(run: Run, rows: PlacedLines) -> None:
    query, documents = None, {}
    parts = json_rows(rows, "score") if rows.first.startswith(b"{") else trec_rows(rows.texts())
    for query_id, doc_id, score, _ in parts:
        if query_id != query:  # the rows of a query are adjacent
            query, documents = query_id, run.setdefault(query_id, {})
        if doc_id in documents:
            raise UserError(
                f'document "{doc_id}" is ranked twice for query "{query_id}"', "keep one of them"
            )
        if not isfinite(score):
            raise UserError(f'field "score" is {score}', "compute it again: it must be finite")
        documents[doc_id] = score


def trec_rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """The rows of the lines of a TREC run."""
    for line in lines:
        cells = columns(line)
        if len(cells) != 6:
            raise UserError(
                f"the line has {len(cells)} columns, not the 6 of a run", f"write {TREC}, or JSONL"
            )
        try:
            yield cells[0], cells[2], float(cells[4]), {}
        except ValueError:
            raise UserError(
                f'the score is "{cells[4]}", not a number', f"the columns are {TREC}"
            ) from None


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


def write_run(records: Iterable[Record], path: str = "-", format: str = "jsonl") -> None:
    """Write run records as `jsonl` or `trec`, whole or not at all."""
    if format == "jsonl":
        write_records(records, path)
        return
    if format != "trec":
        raise UserError(f"no run format {format!r}", "there are: jsonl, trec", status=2)
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
            raise UserError(
                f'id "{identifier}" is empty or holds a space, which TREC columns cannot',
                f"use {flag('format', 'jsonl')}",
            )
    return f"{query_id} Q0 {doc_id} {record['rank']} {record['score']!r} structkit\n".encode()
