"""Relevance judgements, in JSONL, TREC or BEIR, and the gains of their labels."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import dropwhile, islice
from math import gcd, lcm
from typing import NamedTuple

from structkit.errors import UserError, flag, unknown, wrong_usage
from structkit.records.jsonl import Record
from structkit.scoring.runs import (
    DocumentRow,
    PlacedLines,
    column_rows,
    json_row,
    repeated_document,
    rows_by_query,
    split_columns,
)

Qrels = dict[str, dict[str, int]]  # query_id -> doc_id -> relevance
LineRange = tuple[int, int]  # the first and the last line, from 1
QRELS_FORMS = "JSONL records, TREC's `query_id 0 doc_id relevance`, or BEIR's .tsv with its header"

Gains = Mapping[str, int]
BINARY_GAINS = "binary"  # every relevance above 0 is worth 1; needs no labels
# ESCI: Exact, Substitute, Complement, Irrelevant
GAIN_PRESETS = {
    # Reddy et al. 2022, "Shopping Queries Dataset" (https://arxiv.org/abs/2206.06588)
    "esci-documented": "E=1,S=0.1,C=0.01,I=0",
    # the scorer published with it swaps Substitute and Complement
    "esci-official": "E=1,S=0.01,C=0.1,I=0",
    "exact": "E=1,S=0,C=0,I=0",
}
LABEL_AND_GAIN = re.compile(r"\s*+([^=\s]++(?:\s++[^=\s]++)*+)\s*+=\s*+([0-9]+(?:\.[0-9]+)?)\s*")
MAX_RELEVANCE = 10**6  # trec_eval keeps a count for every grade up to the highest


class Judgement(NamedTuple):
    """Relevance of a document, or of some of its lines, to a query."""

    query_id: str
    doc_id: str
    relevance: int
    lines: LineRange | None = None


def read_qrels(path: str, gains: Gains | None = None) -> Qrels:
    """Read the judgements of whole documents in a file, as `read_judgements` does."""
    with PlacedLines(path) as rows:
        return rows_by_query(_judgement_rows(rows, gains), "judged")


def read_judgements(path: str, gains: Gains | None = None) -> Iterator[Judgement]:
    """Yield the judgements in a file: JSONL, TREC's four columns or BEIR's three.

    With `gains`, the field `label` of JSONL records gives the relevance, and `relevance` is not
    read. JSONL records may judge only the lines `start_line` to `end_line`. Errors, with their
    place: a label without a gain, a document judged twice for a query, a relevance that is not a
    whole number, an empty file.
    """
    seen: set[tuple[str, str, LineRange | None]] = set()
    with PlacedLines(path) as rows:
        for query_id, doc_id, relevance, record in _judgement_rows(rows, gains):
            lines = _judged_lines(record)
            if (query_id, doc_id, lines) in seen:
                raise repeated_document(query_id, doc_id, "judged")
            seen.add((query_id, doc_id, lines))
            yield Judgement(query_id, doc_id, relevance, lines)


def _judgement_rows(rows: PlacedLines, gains: Gains | None) -> Iterator[DocumentRow]:
    """Yield the rows of the file with the relevance of each. Errors: there are none."""
    relevance = None
    for query_id, doc_id, value, record in _rows_as_written(rows, gains):
        if gains and value not in gains:
            raise UserError(f'label "{value}" has no gain', f"available: {', '.join(gains)}")
        relevance = gains[value] if gains else _relevance(value)
        yield query_id, doc_id, relevance, record
    if relevance is None:
        raise UserError("holds no judgements", f"give {QRELS_FORMS}")


def _rows_as_written(rows: PlacedLines, gains: Gains | None) -> Iterator[DocumentRow]:
    """Return the rows of the file, in either form."""
    if rows.first.startswith(b"{"):
        field = "label" if gains else "relevance"
        return (json_row(line, field) for line in rows)
    if gains and rows.first:
        raise UserError(
            "the judgements have no labels",
            f"give {flag('gains')} JSONL with query_id, doc_id, label",
        )
    if split_columns(rows.first) == ["query-id", "corpus-id", "score"]:
        under = dropwhile(lambda line: line != rows.first, rows)  # comments
        return column_rows(islice(under, 1, None), 3, 1, 2, QRELS_FORMS, "\t")
    return column_rows(rows, 4, 2, 3, QRELS_FORMS)


def _judged_lines(record: Record) -> LineRange | None:
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


def _relevance(relevance: float | str) -> int:
    try:
        if abs(float(relevance)) > MAX_RELEVANCE:
            raise UserError(
                f"the relevance is {relevance}, beyond {MAX_RELEVANCE:,}",
                "write a grade such as 0, 1, 2 or 3",
            )
        if "_" not in str(relevance) and int(relevance) == float(relevance):
            return int(relevance)
    except (ValueError, OverflowError):
        pass
    raise UserError(
        f"the relevance is {relevance!r}, not a whole number", "write 0 if not relevant"
    )


def parse_gains(text: str) -> Gains:
    """Return the gain of each label, from a preset or `LABEL=VALUE,…`, as whole numbers.

    trec_eval accepts only whole ones. All are multiplied by the smallest number that makes them
    whole: nDCG is a quotient of sums of gains and stays the same.

    >>> parse_gains("esci-documented")
    {'E': 100, 'S': 10, 'C': 1, 'I': 0}
    """
    if text not in GAIN_PRESETS and "=" not in text:
        raise unknown("preset of gains", text, (*GAIN_PRESETS, BINARY_GAINS))
    values: dict[str, Fraction] = {}
    for part in GAIN_PRESETS.get(text, text).split(","):
        match = LABEL_AND_GAIN.fullmatch(part)
        if not match:
            raise _wrong_gains(text, f"{part!r} is not LABEL=VALUE")
        if match[1] in values:
            raise _wrong_gains(text, f"label {match[1]!r} is given twice")
        values[match[1]] = Fraction(match[2])
    if not any(values.values()):
        raise _wrong_gains(text, "no gain is above 0")
    scale = lcm(*(value.denominator for value in values.values()))
    whole = {label: int(value * scale) for label, value in values.items()}
    common = gcd(*whole.values())
    if max(whole.values()) // common > MAX_RELEVANCE:
        raise _wrong_gains(text, f"the gains are more than {MAX_RELEVANCE:,} times apart")
    return {label: value // common for label, value in whole.items()}


def _wrong_gains(text: str, problem: str) -> UserError:
    problem = f"{flag('gains', repr(text))}: {problem}"
    return wrong_usage(problem, "for example E=1,S=0.1,C=0.01,I=0")
