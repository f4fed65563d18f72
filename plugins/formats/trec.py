"""TREC: the six columns of a run, the four of qrels."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import JUDGEMENT_TYPES, Fields, Part, Parts, Row, plain_line
from structkit.records.jsonl import Record

RUN_TAG = "structkit"
RUN_COLUMNS = dict.fromkeys(("query_id", "Q0", "doc_id", "rank", "score", "tag"), "string")
TREC_QRELS_COLUMNS = dict.fromkeys(("query_id", "iteration", "doc_id", "relevance"), "string")
HIT_TYPES = {"query_id": str, "doc_id": str, "rank": int, "score": float}


class Format(plugin.Format):
    """Run and judgements."""

    def parts(self, split: str) -> Parts:
        hit_line = plain_line(f"%s Q0 %s %s %r {RUN_TAG}\n", HIT_TYPES)
        runs, qrels = ("run.trec", "*.trec", "*.run"), ("qrels.txt", "qrels*", "*.qrels")
        return {
            "run": Part(runs, read_hit, write_hit, "columns", RUN_COLUMNS, usual=hit_line),
            "qrels": Part(
                qrels,
                read_judgement,
                write_judgement,
                "columns",
                TREC_QRELS_COLUMNS,
                usual=plain_line("%s 0 %s %s\n", JUDGEMENT_TYPES),
            ),
        }


def read_hit(row: Fields) -> Record:
    """Return a line of a run; the tag is kept unless it is ours."""
    record = {
        "query_id": row["query_id"],
        "doc_id": row["doc_id"],
        "score": row.pop_number("score"),
        "rank": row.pop_whole("rank"),
    }
    return record if row["tag"] == RUN_TAG else {**record, "tag": row["tag"]}


def write_hit(record: Fields) -> Row:
    """Return a line of a run; the score has all its digits, since six of them create ties."""
    Fields(record).pop_number("score")
    score = record.pop_text("score")
    return {
        "query_id": record.pop_id("query_id"),
        "Q0": "Q0",
        "doc_id": record.pop_id("doc_id"),
        "rank": record.pop_whole("rank"),
        "score": score,
        "tag": record.pop_field("tag", default=RUN_TAG),
    }


def read_judgement(row: Fields) -> Record:
    """Return a judgement; the second column is kept unless it is 0."""
    record = {
        "query_id": row["query_id"],
        "doc_id": row["doc_id"],
        "relevance": row.pop_whole("relevance"),
    }
    return record if row["iteration"] == "0" else {**record, "iteration": row["iteration"]}


def write_judgement(record: Fields) -> Row:
    """Return a line of qrels."""
    return {
        "query_id": record.pop_id("query_id"),
        "iteration": record.pop_field("iteration", default="0"),
        "doc_id": record.pop_id("doc_id"),
        "relevance": record.pop_whole("relevance"),
    }
