"""Score runs against judgements, or embeddings on a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

from structkit.command import Command
from structkit.commands.score import pairs, runs, trees
from structkit.commands.score.scored import Compared, Scored, TableOptions, write_scores
from structkit.errors import flag, wrong_usage
from structkit.records.jsonl import Record
from structkit.settings import given_values, setting, settings_class, settings_of

# the work of each task, and its settings; without a task, runs are scored
TASKS: dict[str | None, tuple[Callable[[Any], Iterator[Record]], type[Scored]]] = {
    None: (runs.score_runs, runs.Settings),
    "similarity": (partial(pairs.score_files, pairs.similarity), Scored),
    "classification": (partial(pairs.score_files, pairs.classification), Scored),
    "space": (partial(pairs.score_files, pairs.space), Scored),
    "suite": (pairs.suite, Compared),
    "trees": (trees.score_trees, trees.Settings),
}


@settings_class
class Settings(runs.Settings, trees.Settings):
    """Score runs against judgements: means over all judged queries, with 95 % intervals.

    With --task, score pairs of embeddings (structkit encode --field text_a --field text_b), or
    trees against gold trees.
    """

    task: Literal["similarity", "classification", "space", "suite", "trees"] | None = setting(
        None,
        "Score pairs of embeddings, or trees, instead of {qrels}. similarity: Spearman x 100 of "
        "cosines with `score`; classification: accuracy for `label` of classifiers that learn "
        "where `split` is `train`; space: alignment and uniformity; suite: all tasks of a file, "
        "named by `task`, a row for each model; trees: F1 x 100 of trees against the trees of "
        "{gold}.",
    )

    def __post_init__(self) -> None:
        if (self.task is None) == (self.qrels is None):
            task = flag("task")
            raise wrong_usage(
                f"score needs either {flag('qrels')} or {task}",
                f"give {flag('qrels', 'self')} or a file of judgements, or name a {task}",
            )
        given = given_values(self)
        for each in settings_of(Settings):
            homes = [task for task, (_, kind) in TASKS.items() if hasattr(kind, each.name)]
            if homes and self.task not in homes and each.is_given(given[each.name]):
                flags = (flag("task", task) if task else flag("qrels") for task in homes)
                raise wrong_usage(
                    f"{flag(each.name)} goes with {' or '.join(flags)}",
                    "give both, or leave it out",
                )


def score(settings: Settings) -> Iterator[Record]:
    """Yield one record per run with its measures and 95 % intervals, or the scores of a `task`.

    A judged query that a run lacks counts 0 and is counted as `missing`; queries without judgements
    do not count and are `unjudged`. The interval of a measure is in `MEASURE_low` and
    `MEASURE_high`. With `per_query`: one record per run and judged query. With `qrels` `self`, the
    judged queries are the run's, or the records in the files `queries`. For measures other than
    nDCG, a document with a gain above 0 is relevant. With `compare`: one record per run, compared
    run and measure, with paired tests. With `by`: one record per run and value of that field of the
    `queries`; with `mean`, one per run. `passages` are records of the ranked parts, if judgements
    are of the documents that contain them.
    """
    work, _ = TASKS[settings.task]
    return work(settings)


COMMAND = Command(
    score,
    Settings,
    partial(write_scores, score),
    also=(TableOptions,),
    reads="`query_id`, `doc_id`, `score`; judgements: `query_id`, `doc_id`, `relevance` or "
    "`label`; with {task}: `embedding` of both, `score` or `label`, or `tree`",
    writes="`run`, `queries`, `missing`, `unjudged`, and for each measure `MEASURE`, "
    "`MEASURE_low`, `MEASURE_high`",
    examples="""
structkit score dense.jsonl bm25.jsonl --qrels self --measures 'nDCG@10 RR@10'
structkit score dense.jsonl --qrels self --compare bm25.jsonl
structkit parse-trees sentences.jsonl -o found.jsonl
structkit score --task trees --gold trees.jsonl found.jsonl
""",
)
