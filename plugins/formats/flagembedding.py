"""FlagEmbedding: training examples as query, pos and neg."""

from __future__ import annotations

from structkit import plugin
from structkit.errors import UserError
from structkit.formats.interchange import Options, Part, Parts, Row, move, take, take_texts
from structkit.records.jsonl import Record

SCORES = {"positive_scores": "pos_scores", "negative_scores": "neg_scores"}


class Format(plugin.Format):
    """Training examples."""

    def parts(self, options: Options) -> Parts:
        return {"examples": Part(("train.jsonl", "*.jsonl"), read_example, write_example)}


def read_example(row: Row) -> Record:
    """An example; with several positives, `positive` is the first and `positives` are all."""
    query, positives, negatives = take(row, "query"), take_texts(row, "pos"), take_texts(row, "neg")
    if not positives:
        raise UserError('field "pos" is missing or empty', "give at least one positive")
    record = {"query": query, "positive": positives[0]}
    if len(positives) > 1:
        record["positives"] = positives
    if negatives:
        record["negatives"] = negatives
    return record | move(row, {theirs: ours for ours, theirs in SCORES.items()}) | row


def write_example(record: Record) -> Row:
    """A row; there may be no negatives."""
    positive = take(record, "positive")
    return {
        "query": take(record, "query"),
        "pos": [positive, *take_texts(record, "positives")[1:]],
        "neg": take_texts(record, "negatives"),
        **move(record, SCORES | {"prompt": "prompt", "type": "type"}),
    }
