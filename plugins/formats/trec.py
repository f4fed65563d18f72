"""TREC: the six columns of a run, the four of qrels."""

from __future__ import annotations

import math

from structkit import plugin
from structkit.errors import UserError
from structkit.formats.interchange import (
    Options,
    Part,
    Parts,
    Row,
    take,
    take_id,
    take_number,
    take_text,
    take_whole,
)
from structkit.records.jsonl import Record

TAG = "structkit"
RUN = dict.fromkeys(("query_id", "Q0", "doc_id", "rank", "score", "tag"), "string")
QRELS = dict.fromkeys(("query_id", "iteration", "doc_id", "relevance"), "string")


class Format(plugin.Format):
    """Run and judgements."""

    def parts(self, options: Options) -> Parts:
        runs, qrels = ("run.trec", "*.trec", "*.run"), ("qrels.txt", "qrels*", "*.qrels")
        return {
            "run": Part(runs, read_hit, write_hit, "columns", RUN),
            "qrels": Part(qrels, read_judgement, write_judgement, "columns", QRELS),
        }


def read_hit(row: Row) -> Record:
    """A line of a run; the tag is kept unless it is ours."""
    record = {
        "query_id": row["query_id"],
        "doc_id": row["doc_id"],
        "score": _finite(take_number(row, "score")),
        "rank": take_whole(row, "rank"),
    }
    return record if row["tag"] == TAG else {**record, "tag": row["tag"]}


def write_hit(record: Record) -> Row:
    """A line of a run; the score has all its digits, since six of them create ties."""
    _finite(take_number({**record}, "score"))
    score = take_text(record, "score")
    return {
        "query_id": take_id(record, "query_id"),
        "Q0": "Q0",
        "doc_id": take_id(record, "doc_id"),
        "rank": take_whole(record, "rank"),
        "score": score,
        "tag": take(record, "tag", default=TAG),
    }


def _finite(score: float) -> float:
    if not math.isfinite(score):
        raise UserError(f'field "score" is {score}', "compute it again: it must be finite")
    return score


def read_judgement(row: Row) -> Record:
    """A judgement; the second column is kept unless it is 0."""
    record = {
        "query_id": row["query_id"],
        "doc_id": row["doc_id"],
        "relevance": take_whole(row, "relevance"),
    }
    return record if row["iteration"] == "0" else {**record, "iteration": row["iteration"]}


def write_judgement(record: Record) -> Row:
    """A line of qrels."""
    return {
        "query_id": take_id(record, "query_id"),
        "iteration": take(record, "iteration", default="0"),
        "doc_id": take_id(record, "doc_id"),
        "relevance": take_whole(record, "relevance"),
    }
