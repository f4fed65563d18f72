"""MTEB: scores of a run as the result of a task; can only be written."""

import re

from structkit import plugin
from structkit.errors import UserError, program
from structkit.formats.interchange import Fields, Part, Parts, Row

MEASURE = re.compile(r"(nDCG|RR|R|P|AP|Success)@([0-9]+)")
MTEB_NAMES = {"nDCG": "ndcg", "RR": "mrr", "R": "recall", "P": "precision", "AP": "map"}
MAIN_MEASURE = "ndcg_at_10"  # of MTEB's retrieval tasks


class Format(plugin.Format):
    """The scores of one run."""

    def parts(self, split: str) -> Parts:
        return {"scores": Part(("results.json",), write=ResultFile(split).write)}


class ResultFile:
    """Writes the one result that a file holds."""

    def __init__(self, split: str) -> None:
        self.split = split
        self.written = False

    def write(self, record: Fields) -> Row:
        """Return the scores of a run; the field `task` names the task, by default the run."""
        if self.written:
            raise UserError(
                "a result file holds one task", "convert the record of each run separately"
            )
        run = record.pop_field("run")
        task = record.pop_field("task", default=run)
        scores = dict(measures(record))
        if not scores:
            raise UserError(
                "there is no measure", f"use {program('score', measures='nDCG@10 R@100')}"
            )
        main = MAIN_MEASURE if MAIN_MEASURE in scores else next(iter(scores))
        row = {
            "dataset_revision": record.pop_field("dataset_revision", default=""),
            "task_name": task,
            "mteb_version": record.pop_field("mteb_version", default=""),
            "evaluation_time": record.pop_field("evaluation_time", kind=float, default=0.0),
            "scores": {
                self.split: [
                    {
                        "hf_subset": record.pop_field("hf_subset", default="default"),
                        "languages": record.pop_texts("languages"),
                        "main_score": scores[main],
                        **scores,
                    }
                ]
            },
        }
        self.written = True
        return row


def measures(record: Fields) -> list[tuple[str, float]]:
    """Take the measures out of a record, with MTEB's names; those without one stay."""
    measures = []
    for name in list(record):
        match = MEASURE.fullmatch(name)
        if match:
            value = record.pop_field(name, kind=float)
            measures.append((f"{MTEB_NAMES.get(match[1], 'hit_rate')}_at_{match[2]}", value))
    return measures
