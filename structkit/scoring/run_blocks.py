"""Rows of a run, many at a time: much faster than one by one, where all are as they should be."""

from __future__ import annotations

import math
from itertools import pairwise

import orjson

Run = dict[str, dict[str, float]]  # query_id -> doc_id -> score
CHUNK = 1 << 18
NUMBERS = {float, int}

QUERY, DOCUMENT, SCORE, RANK = b'{"query_id":', b',"doc_id":', b',"score":', b',"rank":'


def add_block(run: Run, data: bytes) -> bool:
    """Add the rows of a block of lines; nothing is added where one is not as it should be."""
    data = data if data.endswith(b"\n") else data + b"\n"
    try:
        found = _queries(data) if data.startswith(QUERY) else None
        if found is None:
            found = _rows(data)
    except (ValueError, KeyError, TypeError):
        return False
    if found is None:
        return False
    for query_id, documents in found.items():
        if not documents.keys().isdisjoint(run.get(query_id, {})):
            return False
    for query_id, documents in found.items():
        run[query_id] = {**run[query_id], **documents} if query_id in run else documents
    return True


def _queries(data: bytes) -> Run | None:
    """Read lines as `structkit search` writes them, a query at a time.

    What the lines of a query share is cut out, so that they become one object with a member for
    each document, and one `rank`. Its members are counted, and the quotes: where no id has an
    escaped one, lines of another form cannot come to the same numbers.
    """
    if b"\\" in data:
        return None
    found: Run = {}
    first = 0
    while first < len(data):
        shared = data[first : data.index(DOCUMENT, first) + len(DOCUMENT)]
        last = data.find(b',"rank":1}\n', data.index(b"\n", first))
        last = data.rindex(b"\n", 0, last) + 1 if last >= 0 else len(data)
        rows = data[first:last].replace(b"}\n" + shared, b",")
        count = (last - first - len(rows)) // (len(shared) + 1) + 1
        members = b"{" + rows[len(shared) :].replace(SCORE, b":")
        if (
            rows.find(b"\n") < len(rows) - 1
            or rows.count(RANK) != count
            or len(rows) - len(shared) + 1 - len(members) != count * (len(SCORE) - 1)
            or members.count(b'"') != 4 * count  # of the document's id and of "rank"
        ):
            return None
        documents = orjson.loads(members)
        documents.pop("rank", None)
        query_id = orjson.loads(shared[len(QUERY) : -len(DOCUMENT)])
        if len(documents) != count or not NUMBERS.issuperset(map(type, documents.values())):
            return None
        if type(query_id) is not str or query_id in found:
            return None
        found[query_id] = documents
        first = last
    return found


def _rows(data: bytes) -> Run | None:
    """The run in lines of JSON or of TREC's six columns, from their columns."""
    count = data.count(b"\n")
    if data.startswith(b"{"):
        records = orjson.loads(b"[" + data[:-1].replace(b"\n", b",") + b"]")
        query_ids = [record["query_id"] for record in records]
        doc_ids = [record["doc_id"] for record in records]
        scores = [record["score"] for record in records]
    else:
        cells = data.decode().split()
        query_ids, doc_ids = cells[0::6], cells[2::6]
        scores = list(map(float, cells[4::6]))
        count *= len(cells) == 6 * count
    kinds = {*map(type, query_ids), *map(type, doc_ids)}
    as_expected = kinds == {str} and NUMBERS.issuperset(map(type, scores))
    if not as_expected or len(scores) != count or not all(map(math.isfinite, scores)):
        return None
    return _grouped(query_ids, doc_ids, scores)


def _grouped(query_ids: list[str], doc_ids: list[str], scores: list[float]) -> Run | None:
    """Rows by query; nothing where a document stands twice under its query."""
    changes = [row for row, (one, other) in enumerate(pairwise(query_ids), 1) if one != other]
    found: Run = {}
    for first, last in pairwise([0, *changes, len(query_ids)]):
        new = dict(zip(doc_ids[first:last], scores[first:last], strict=True))
        before = found.get(query_ids[first])
        if len(new) < last - first or (before and not new.keys().isdisjoint(before)):
            return None
        found[query_ids[first]] = {**before, **new} if before else new
    return found
