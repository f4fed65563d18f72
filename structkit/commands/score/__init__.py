"""Score runs against judgements, or embeddings on a task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from structkit.command import Command
from structkit.errors import UserError, flag, unknown
from structkit.paths import names_of
from structkit.records.jsonl import Record
from structkit.records.stream import OutputOptions
from structkit.settings import file_setting, seed_setting, setting

DEFAULT = ("nDCG@10", "RR@10", "R@100", "Success@1", "Success@5", "Judged@10")
JUDGED, PAIRS = "With {qrels}", "With {task}"
# the file of this folder that has a task's work
WORK = {"similarity": "pairs", "space": "pairs", "classification": "suite", None: "runs"}


def by_name(runs: Sequence[str]) -> dict[str, str]:
    """Runs by the names to print for them.

    >>> by_name(["runs/bm25.jsonl.gz", "-"])
    {'bm25': 'runs/bm25.jsonl.gz', 'run': '-'}
    """
    return dict(zip(names_of(runs, stdin="run"), runs, strict=True))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Score runs against judgements: means over all judged queries, with 95 % intervals.

    With --task, score pairs of embeddings (structkit encode --field text_a --field text_b), or
    trees against gold trees.
    """

    runs: tuple[str, ...] = file_setting(
        "Run files, JSONL or TREC ({task}: pairs, trees); stdin if none, or for -.",
        ("-",),
        metavar="RUNS",
        argument=True,
    )
    qrels: str | None = setting(
        None,
        "Judgements: JSONL, TREC or BEIR; `self`: the document with the query's own id.",
        reads="self",
    )
    task: Literal["similarity", "classification", "space", "suite", "trees"] | None = setting(
        None,
        "Instead of {qrels}, pairs of embeddings: Spearman x 100 of cosines with `score`; accuracy "
        "for `label` of classifiers that learn where `split` is `train`; alignment and uniformity; "
        "all tasks of a file, named by `task`, a row for each model. trees: F1 x 100 of trees with "
        "those of {gold}.",
    )
    measures: tuple[str, ...] = setting(
        DEFAULT,
        "Names as in ir_measures, with parameters as in AP(rel=2), also MRR and HitRate@k; several "
        "are separated by blanks. Of equal scores the later id is first, also in RR@k, as in "
        "trec_eval.",
        metavar="NAMES",
        requires="qrels",
    )
    queries: tuple[str, ...] = file_setting(
        "With {qrels:self}: the queries that count.", (), requires="qrels", group=JUDGED
    )
    gains: str | None = setting(
        None,
        "Gains of the qrels' field `label`: esci-documented (E=1,S=0.1,C=0.01,I=0), "
        "esci-official (S and C swapped), exact (E=1, others 0), or your own; "
        "binary: 1 for any relevance above 0.",
        later="`relevance` itself",
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
    compare: tuple[str, ...] = file_setting(
        "Paired tests of every run against this one; suite: of every model on each task.",
        (),
        metavar="RUN",
        excludes="by",
        group=JUDGED,
    )
    by: str | None = setting(
        None,
        "One record for each value of this field.",
        metavar="FIELD",
        requires="by_records",
        excludes="task",
        group=JUDGED,
    )
    by_records: tuple[str, ...] = file_setting(
        "With {by}: file with the field, for queries or for documents.",
        (),
        requires="by",
        group=JUDGED,
    )
    mean: bool = setting(
        False,
        "With {by}: the mean over its values, equally weighted.",
        requires="by",
        group=JUDGED,
    )
    passages: tuple[str, ...] = file_setting(
        "Runs rank parts of the judged documents, and this file has them: their `doc_id` or "
        "`path`, their `lines`. A document ranks where the first of its parts does that overlaps "
        "the judged `start_line` to `end_line`; further ones bring nothing.",
        (),
        requires="qrels",
        group=JUDGED,
    )
    gold: str | None = file_setting("trees: records with the right `tree`, by `id`.", group=PAIRS)
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        qrels, own, task = flag("qrels"), flag("qrels", "self"), flag("task")
        suite, trees = flag("task", "suite"), flag("task", "trees")
        compared = self.compare and self.task not in (None, "suite")
        if (self.task is None) == (self.qrels is None):
            remedy = f"give {own} or a file of judgements, or a {task}, not both"
            raise UserError(f"score needs one of {qrels} and {task}", remedy, status=2)
        problems = {
            f"{flag('gold')} goes with {trees}": (self.gold is None) != (self.task != "trees"),
            f"{flag('compare')} goes with {qrels} or {suite}": compared,
            f"{flag('gains')} goes with a file of {qrels}": self.qrels == "self" and self.gains,
            f"{flag('queries')} goes with {own}": self.qrels != "self" and self.queries,
        }
        for problem, is_there in problems.items():
            if is_there:
                raise UserError(problem, "give both, or leave it out", status=2)

    @property
    def named_runs(self) -> dict[str, str]:
        """The runs by the names to print for them."""
        return by_name(self.runs)


@dataclass(frozen=True, kw_only=True)
class TableOptions(OutputOptions):
    """Where scores are written, and as what."""

    markdown: bool = setting(False, "A table for a README.")
    fail_below: tuple[str, ...] = setting(
        (),
        "Exit with status 1 if a record's value is lower, for CI.",
        metavar="MEASURE=VALUE",
        parse=lambda text: "=".join(map(str, limit_of(text))),
    )


def limit_of(text: str) -> tuple[str, float]:
    """The measure and its lowest value in `MEASURE=VALUE`.

    >>> limit_of("P(rel=2)@1=0.5")
    ('P(rel=2)@1', 0.5)
    """
    name, _, number = text.rpartition("=")
    try:
        lowest = float(number) if name else math.nan
    except ValueError:
        lowest = math.nan
    if math.isnan(lowest):
        problem = f"{flag('fail_below', text)} is not MEASURE=VALUE"
        raise UserError(problem, "write it as nDCG@10=0.6", status=2)
    return name, lowest


def check_limit(records: Sequence[Record], name: str, lowest: float) -> None:
    """Errors: a record has a lower value of a measure, or none has the measure."""
    values = [{each["measure"]: each["value"]} if "measure" in each else each for each in records]
    if not any(name in each for each in values):
        known = {key for each in values for key, value in each.items() if isinstance(value, float)}
        ends = {f"{key}_{end}" for key in known for end in ("low", "high")}
        raise unknown("measure", name, known - ends)
    lower = [
        place for place, each in enumerate(values) if name in each and not each[name] >= lowest
    ]
    if lower:
        least = min(lower, key=lambda place: values[place][name])
        texts = {key: text for key, text in records[least].items() if isinstance(text, str)}
        of = (f"{key} {text}" for key, text in texts.items() if key != "measure")
        problem = f"{name} is {values[least][name]:.6g}, below {lowest:g}"
        raise UserError(f"{', '.join(of)}: {problem}", "")


def score(settings: Settings) -> Iterator[Record]:
    """One record for each run: measures averaged over all judged queries, with 95 % intervals.

    Runs are files, records, or a dict of such by the names to print. With a `task`, they are pairs
    of embeddings, or trees.
    """
    work = import_module(f"structkit.commands.score.{WORK.get(settings.task, settings.task)}")
    scores: Iterator[Record] = getattr(work, settings.task or "runs")(settings)
    return scores


def _main(settings: Settings, options: TableOptions) -> None:
    from structkit.records.table import write_drawn

    def draw(records: list[Record], width: int | None) -> str:
        from structkit.commands.score.table import table

        return table(records, options.markdown, width)

    records: Iterable[Record] = score(settings)
    if options.fail_below:
        records = kept = list(records)
    write_drawn(records, options.output, draw, always=options.markdown)
    for text in options.fail_below:
        check_limit(kept, *limit_of(text))


COMMAND = Command(
    score,
    Settings,
    _main,
    also=(TableOptions,),
    reads="`query_id`, `doc_id`, `score`; judgements: `query_id`, `doc_id`, `relevance` or "
    "`label`; with {task}: `embedding` of both, `score` or `label`, or `tree`",
    writes="`run`, `queries`, `missing`, `unjudged`, and of each measure `MEASURE`, "
    "`MEASURE_low`, `MEASURE_high`",
    examples="""
structkit score dense.jsonl bm25.jsonl --qrels self --measures 'nDCG@10 RR@10'
structkit score dense.jsonl --qrels self --compare bm25.jsonl
structkit parse-trees sentences.jsonl -o found.jsonl
structkit score --task trees --gold trees.jsonl found.jsonl
""",
)
