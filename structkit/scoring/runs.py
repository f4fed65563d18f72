"""Runs: what was found for each query. Reading, ordering and writing them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import orjson

from structkit.errors import MEND, UserError, missing
from structkit.records.jsonl import BOM, Lines, Record, json_kind, not_json
from structkit.records.output import Output, write_records

TrecRow = tuple[str, str, float]
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
    lines = Lines([path])
    run: Run = {}
    collecting = gc.isenabled()
    gc.disable()  # millions of objects without a cycle: looking for one takes half the time
    try:
        _add_rows(run, content(lines))
    except UserError as error:
        raise (error if error.file else error.at(lines.file, lines.line)) from None
    finally:
        if collecting:
            gc.enable()
    if not run:
        raise UserError("holds no results", "search again: it may have been interrupted").at(
            lines.file
        )
    return run


def _add_rows(run: Run, lines: Iterator[bytes]) -> None:
    first = next(lines, b"")
    every = chain([first] if first else [], lines)
    query, documents = None, {}
    for query_id, doc_id, score in json_rows(every) if first.startswith(b"{") else trec_rows(every):
        if query_id != query:  # the rows of a query are adjacent
            query, documents = query_id, run.setdefault(query_id, {})
        if doc_id in documents:
            raise UserError(
                f'document "{doc_id}" is ranked twice for query "{query_id}"', "keep one of them"
            )
        if not isfinite(score):
            raise UserError(f'field "score" is {score}', "compute it again: it must be finite")
        documents[doc_id] = score


def content(lines: Lines) -> Iterator[bytes]:
    """The lines that are not blank, without a byte order mark."""
    for line in lines:
        if lines.line == 1:
            line = line.removeprefix(BOM)
        if not line.isspace() and line:
            yield line


def json_rows(
    lines: Iterable[bytes], value: str = "score", kinds: tuple[type, ...] = (float, int)
) -> Iterator[tuple[str, str, Any]]:
    """Query id, document id and value of JSON records; ids may be numbers."""
    loads = orjson.loads
    for line in lines:
        try:
            record = loads(line)
        except orjson.JSONDecodeError as error:
            if b"NaN" in line:
                raise UserError(f'field "{value}" is NaN', "compute it again") from None
            raise not_json(error, line) from None
        try:
            query_id, doc_id, number = record["query_id"], record["doc_id"], record[value]
        except (KeyError, TypeError):
            raise _incomplete(record, value) from None
        if type(number) not in kinds:
            raise _not(value, number, "a string" if str in kinds else "a number")
        if type(query_id) is not str:
            query_id = _identifier(query_id, "query_id")
        if type(doc_id) is not str:
            doc_id = _identifier(doc_id, "doc_id")
        yield query_id, doc_id, number


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


def trec_rows(lines: Iterable[bytes]) -> Iterator[TrecRow]:
    """Query id, document id and score of the lines of a TREC run."""
    for line in lines:
        cells = columns(line)
        if len(cells) != 6:
            raise UserError(
                f"the line has {len(cells)} columns, not the 6 of a run", f"write {TREC}, or JSONL"
            )
        try:
            yield cells[0], cells[2], float(cells[4])
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
                "use --format jsonl",
            )
    return f"{query_id} Q0 {doc_id} {record['rank']} {record['score']!r} structkit\n".encode()
