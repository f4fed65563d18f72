"""FlagEmbedding: training examples as query, pos and neg."""

from __future__ import annotations

from structkit import plugin
from structkit.errors import UserError
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

SCORES = {"positive_scores": "pos_scores", "negative_scores": "neg_scores"}


class Format(plugin.Format):
    """Training examples."""

    def parts(self, split: str) -> Parts:
        return {"examples": Part(("train.jsonl", "*.jsonl"), read_example, write_example)}


def read_example(row: Fields) -> Record:
    """Return an example; of several `positives`, the first is `positive`."""
    query, positives, negatives = row.pop_field("query"), row.pop_texts("pos"), row.pop_texts("neg")
    if not positives:
        raise UserError('field "pos" is missing or empty', "give at least one positive")
    record = {"query": query, "positive": positives[0]}
    if len(positives) > 1:
        record["positives"] = positives
    if negatives:
        record["negatives"] = negatives
    return record | row.move({theirs: ours for ours, theirs in SCORES.items()}) | row


def write_example(record: Fields) -> Row:
    """Return a row, with or without negatives."""
    positive = record.pop_field("positive")
    return {
        "query": record.pop_field("query"),
        "pos": [positive, *record.pop_texts("positives")[1:]],
        "neg": record.pop_texts("negatives"),
        **record.move(SCORES | {"prompt": "prompt", "type": "type"}),
    }
