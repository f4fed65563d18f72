"""FlagEmbedding: training examples as query, pos and neg."""

from structkit import plugin
from structkit.errors import RECORD_REMEDY, UserError
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record

SCORE_FIELDS = {"positive_scores": "pos_scores", "negative_scores": "neg_scores"}


class Format(plugin.Format):
    """Training examples."""

    def parts(self, split: str) -> Parts:
        return {"examples": Part(("train.jsonl", "*.jsonl"), read_example, write_example)}


def read_example(row: Fields) -> Record:
    """Return an example; of several `positives`, the first is `positive`.

    Scores of a teacher become `scores` as `train --distill` reads them: of `positive`, then of the
    negatives. Those of several positives are in `positive_scores`, too.
    """
    query, positives, negatives = row.pop_field("query"), row.pop_texts("pos"), row.pop_texts("neg")
    if not positives:
        raise UserError('field "pos" is missing or empty', "give at least one positive")
    record = {"query": query, "positive": positives[0]}
    if len(positives) > 1:
        record["positives"] = positives
    if negatives:
        record["negatives"] = negatives
    record |= row.move({theirs: ours for ours, theirs in SCORE_FIELDS.items()})
    positive, negative = record.get("positive_scores"), record.get("negative_scores")
    if isinstance(positive, list) and isinstance(negative, list):
        for name, scores, texts in (("pos", positive, positives), ("neg", negative, negatives)):
            if len(scores) != len(texts):
                raise UserError(
                    f'field "{name}_scores" holds {len(scores)} scores, not {len(texts)}',
                    RECORD_REMEDY,
                )
        del record["negative_scores"]
        if len(positives) == 1:
            del record["positive_scores"]
        record["scores"] = [positive[0], *negative]
    return record | row


def write_example(record: Fields) -> Row:
    """Return a row, with or without negatives."""
    positive, negatives = record.pop_field("positive"), record.pop_texts("negatives")
    scores, others = record.get("scores"), record.get("positive_scores")
    if isinstance(scores, list) and len(scores) == 1 + len(negatives):
        others = others[1:] if isinstance(others, list) else []
        own = {"positive_scores": [scores[0], *others], "negative_scores": scores[1:]}
        record.pop("scores")
        record.update(own)
    return {
        "query": record.pop_field("query"),
        "pos": [positive, *record.pop_texts("positives")[1:]],
        "neg": negatives,
        **record.move(SCORE_FIELDS | {"prompt": "prompt", "type": "type"}),
    }
