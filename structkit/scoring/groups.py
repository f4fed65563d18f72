"""Queries in groups: by a field of their own records, or of the documents that answer them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structkit.errors import UserError, flag, guess
from structkit.records.jsonl import Records
from structkit.scoring.qrels import Qrels

BUCKETS = 4
DISTINCT = 8  # more distinct numbers than this are put into buckets
NONE = "none"

FieldValues = dict[str, object]


def read_values(files: Sequence[str], field: str) -> FieldValues:
    """The value of a field for each id. Errors: a field that no record has."""
    records = Records.read(files)
    values: FieldValues = {}
    known: set[str] = set()
    for record in records:
        known.update(record)
        if field in record:
            values[record["id"]] = record[field]
    if not values:
        raise UserError(
            f"no record has the field {field} of {flag('by')}",
            f"{guess(field, known)}there are: {', '.join(sorted(known))}",
        ).at(files[0])
    return values


def grouped(query_ids: Sequence[str], qrels: Qrels, values: FieldValues) -> list[str]:
    """The group of each query: its own value, or that of the first of its best documents.

    More than 8 distinct numbers become quarters of the queries.

    >>> grouped(["q", "r"], {"q": {"d": 1, "e": 2}, "r": {"f": 1}}, {"d": "go", "e": "php"})
    ['php', 'none']
    """
    of_queries = [_value(query_id, qrels[query_id], values) for query_id in query_ids]
    numbers = [value for value in of_queries if isinstance(value, int | float)]
    if len(set(numbers)) > DISTINCT and len(numbers) == sum(
        value is not None for value in of_queries
    ):
        return buckets(of_queries)
    return [NONE if value is None else str(value) for value in of_queries]


def _value(query_id: str, judged: dict[str, int], values: FieldValues) -> object:
    if query_id in values:
        return values[query_id]
    best = max(judged, key=lambda doc_id: judged[doc_id], default=None)
    return None if best is None else values.get(best)


def buckets(values: Sequence[object]) -> list[str]:
    """Numbers as the quarters into which they fall, named by lowest and highest number.

    >>> buckets([1, 2, 3, 4, 5, 6, 7, 8])
    ['1-2', '1-2', '3-4', '3-4', '5-6', '5-6', '7-8', '7-8']
    """
    numbers = np.array([value for value in values if value is not None], np.float64)
    ends = np.unique(np.quantile(numbers, np.arange(1, BUCKETS) / BUCKETS, method="lower"))
    place = np.searchsorted(ends, numbers)
    names = {
        bucket: f"{plain(numbers[place == bucket].min())}-{plain(numbers[place == bucket].max())}"
        for bucket in set(place.tolist())
    }
    named = iter([names[bucket] for bucket in place.tolist()])
    return [NONE if value is None else next(named) for value in values]


def plain(number: float) -> str:
    """A number as people write it: never with an exponent.

    >>> plain(3.0), plain(0.25), plain(123456789.0)
    ('3', '0.25', '123456789')
    """
    return np.format_float_positional(number, trim="-")


def order(groups: Sequence[str]) -> list[str]:
    """The groups in the order of a table: numbers by size, then names.

    >>> order(["b", "10-12", "2-9", "a", "b"])
    ['2-9', '10-12', 'a', 'b']
    """

    def rank(name: str) -> tuple[float, str]:
        try:
            return float(name.rpartition("-")[0] or name), name
        except ValueError:
            return float("inf"), name

    return sorted(set(groups), key=rank)
