"""The settings of `score`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from structkit.errors import UserError, flag
from structkit.paths import names_of
from structkit.records.stream import OutputOptions
from structkit.settings import seed_setting, setting

DEFAULT = ("nDCG@10", "RR@10", "R@100", "Success@1", "Success@5", "Judged@10")
MEASURES = (  # what a shell offers
    *("nDCG@10", "nDCG@100", "RR@10", "RR@100", "R@10", "R@100", "R@1000", "Success@1"),
    *("Success@5", "Success@10", "P@1", "P@10", "AP", "Rprec", "Bpref", "Judged@10"),
)
JUDGED, PAIRS = "With --qrels", "With --task"


def completed(incomplete: str) -> list[str]:
    """What completes the last of several measures in one argument."""
    before, blank, last = incomplete.rpartition(" ")
    return [before + blank + name for name in MEASURES if name.startswith(last)]


def named(runs: Sequence[str]) -> dict[str, str]:
    """Runs by the names to print for them.

    >>> named(["runs/bm25.jsonl.gz", "-"])
    {'bm25': 'runs/bm25.jsonl.gz', 'run': '-'}
    """
    return dict(zip(names_of(runs, stdin="run"), runs, strict=True))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Score runs against judgements: means over all judged queries, with 95 % intervals.

    With --task, score pairs of embeddings (structkit encode --field text_a --field text_b), or
    trees against gold trees.
    """

    runs: tuple[str, ...] = setting(
        ("-",),
        "Run files, JSONL or TREC (--task: pairs, trees); stdin if none, or for -.",
        argument=True,
        metavar="RUNS",
        reads=True,
    )
    qrels: str | None = setting(
        None,
        "Judgements: JSONL, TREC or BEIR; `self`: the document with the query's own id.",
        reads="self",
    )
    task: Literal["similarity", "classification", "space", "suite", "trees"] | None = setting(
        None,
        "Instead of --qrels, pairs of embeddings: Spearman x 100 of cosines with `score`; accuracy "
        "of a classifier for `label`; alignment and uniformity; all tasks of a file, named by "
        "`task`, a row for each model. trees: F1 x 100 of trees with those of --gold.",
    )
    measures: tuple[str, ...] = setting(
        DEFAULT,
        "Names as in ir_measures, also MRR and HitRate@k; several are separated by blanks.",
        metavar="NAMES",
        complete=completed,
        requires="qrels",
    )
    queries: tuple[str, ...] = setting(
        (),
        "With --qrels self: the queries that count.",
        metavar="FILE",
        reads=True,
        requires="qrels",
        group=JUDGED,
    )
    gains: str | None = setting(
        None,
        "Gains of the qrels' field `label`: esci-documented (E=1,S=0.1,C=0.01,I=0), "
        "esci-official (S and C swapped), exact (E=1, others 0), or your own; "
        "binary: 1 for any relevance above 0; default: `relevance` itself.",
        metavar="PRESET|LABEL=VALUE,…",
        requires="qrels",
        group=JUDGED,
    )
    per_query: bool = setting(
        False,
        "One record for each run and query.",
        requires="qrels",
        excludes=("by", "compare"),
        group=JUDGED,
    )
    compare: tuple[str, ...] = setting(
        (),
        "Paired tests of every run against this one; suite: of every model on each task.",
        metavar="RUN",
        reads=True,
        excludes="by",
        group=JUDGED,
    )
    by: str | None = setting(
        None,
        "One record for each value of this field.",
        metavar="FIELD",
        requires="by_records",
        group=JUDGED,
    )
    by_records: tuple[str, ...] = setting(
        (),
        "With --by: file with the field, for queries or for documents.",
        metavar="FILE",
        reads=True,
        requires="by",
        group=JUDGED,
    )
    mean: bool = setting(
        False,
        "With --by: the mean over its values, equally weighted.",
        requires="by",
        group=JUDGED,
    )
    passages: tuple[str, ...] = setting(
        (),
        "Runs rank parts of the judged documents, and this file has them: their `doc_id` or "
        "`path`, their `lines`. A document ranks where the first of its parts does that overlaps "
        "the judged `start_line` to `end_line`; further ones bring nothing.",
        metavar="FILE",
        reads=True,
        requires="qrels",
        group=JUDGED,
    )
    train: tuple[str, ...] = setting(
        (),
        "classification: pairs to learn from; one for all files, or one each.",
        metavar="FILE",
        reads=True,
        group=PAIRS,
    )
    gold: str | None = setting(
        None,
        "trees: records with the right `tree`, by `id`.",
        metavar="FILE",
        reads=True,
        group=PAIRS,
    )
    seeds: int = setting(
        5,
        "Classifiers to train (classification, suite).",
        low=1,
        high=1000,
        requires="task",
        group=PAIRS,
    )
    workers: int = setting(
        1,
        "suite: processes that score files.",
        low=1,
        high=256,
        requires="task",
        group=PAIRS,
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        if (self.task is None) == (self.qrels is None):
            problem = f"score needs one of {flag('qrels')} and {flag('task')}"
            raise UserError(problem, "give one", status=2)
        for name, task in (("train", "classification"), ("gold", "trees")):
            if bool(getattr(self, name)) != (self.task == task):
                problem = f"{flag(name)} goes with {flag('task', task)}"
                raise UserError(problem, "give both or none", status=2)
        if self.compare and self.task not in (None, "suite"):
            problem = f"{flag('compare')} goes with {flag('qrels')} or {flag('task', 'suite')}"
            raise UserError(problem, "leave it out", status=2)
        if self.by and self.qrels is None:
            raise UserError(f"{flag('by')} needs {flag('qrels')}", "add it", status=2)
        if self.qrels == "self" and self.gains is not None:
            problem = f"{flag('gains')} and {flag('qrels', 'self')} exclude each other"
            raise UserError(problem, "leave one out", status=2)
        if self.qrels not in (None, "self") and self.queries:
            problem = f"{flag('queries')} goes with {flag('qrels', 'self')}"
            raise UserError(problem, "a qrels file names its queries itself", status=2)
        if not self.runs:
            raise UserError(f"{flag('runs')} names none", "give a run", status=2)

    @property
    def named(self) -> dict[str, str]:
        """The runs by the names to print for them."""
        return named(self.runs)


@dataclass(frozen=True, kw_only=True)
class TableOptions(OutputOptions):
    """Where scores are written, and as what."""

    markdown: bool = setting(False, "A table for a README.")
