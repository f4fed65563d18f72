"""Score runs against judgements, or embeddings on a task."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from structkit.cli.completion import measures as measure_names
from structkit.cli.options import (
    OutputFile,
    Quiet,
    Seed,
    Task,
)
from structkit.cli.streams import apart

RECORDS = {
    "reads": (
        "`query_id`, `doc_id`, `score`; judgements: `query_id`, `doc_id`, `relevance` or "
        "`label`; with --task: `embedding` of both, `score` or `label`, or `tree`"
    ),
    "writes": (
        "`run`, `queries`, `missing`, `unjudged`, and of each measure `MEASURE`, "
        "`MEASURE_low`, `MEASURE_high`"
    ),
}
EXAMPLES = """
structkit score dense.jsonl bm25.jsonl --qrels self --measures 'nDCG@10 RR@10'
structkit score dense.jsonl --qrels self --compare bm25.jsonl
structkit parse-trees --parser chunk sentences.jsonl -o found.jsonl
structkit score --task trees --gold trees.jsonl found.jsonl
"""


def score(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Run files, JSONL or TREC (--task: pairs, trees); stdin when none."),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Option(
            help="Judgements: JSONL, TREC or BEIR; `self`: the document with the query's own id."
        ),
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            help="Instead of --qrels, pairs of embeddings: Spearman x 100 of cosines with `score`; "
            "accuracy of a classifier for `label`; alignment and uniformity; all tasks of a file, "
            "named by `task`, a row for each model. trees: F1 x 100 of trees with those of --gold."
        ),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            help="classification: pairs to learn from; one for all files, or one each.",
            rich_help_panel="With --task",
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="trees: records with the right `tree`, by `id`."),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            help="classification, suite: classifiers to train.",
            rich_help_panel="With --task",
        ),
    ] = 5,
    positive_above: Annotated[
        float,
        typer.Option(
            help="space: pairs with a higher `score` are positive.", rich_help_panel="With --task"
        ),
    ] = 4.0,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            help="With --qrels self: the queries that count.", rich_help_panel="With --qrels"
        ),
    ] = None,
    measures: Annotated[
        str,
        typer.Option(
            autocompletion=measure_names, help="Names as in ir_measures, also MRR and HitRate@k."
        ),
    ] = "nDCG@10 RR@10 R@100 Success@1 Success@5 Judged@10",
    gains: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET|LABEL=VALUE,…",
            help="Gains of the qrels' field `label`: esci-documented (E=1,S=0.1,C=0.01,I=0), "
            "esci-official (S and C swapped), exact (E=1, others 0), or your own; "
            "binary: 1 for any relevance above 0; default: `relevance` itself.",
            rich_help_panel="With --qrels",
        ),
    ] = None,
    per_query: Annotated[
        bool,
        typer.Option(
            "--per-query", help="One record for each run and query.", rich_help_panel="With --qrels"
        ),
    ] = False,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Paired tests of every run against this one; suite: of every model on each task.",
            rich_help_panel="With --qrels",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="One record for each value of this field.",
            rich_help_panel="With --qrels",
        ),
    ] = None,
    by_records: Annotated[
        list[str] | None,
        typer.Option(
            help="With --by: file with the field, for queries or for documents.",
            rich_help_panel="With --qrels",
        ),
    ] = None,
    mean: Annotated[
        bool,
        typer.Option(
            "--mean",
            help="With --by: the mean over its values, equally weighted.",
            rich_help_panel="With --qrels",
        ),
    ] = False,
    passages: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Runs rank parts of the judged documents, and this file has them: their `doc_id` "
            "or `path`, their `lines`. A document ranks where the first of its parts does that "
            "overlaps the judged `start_line` to `end_line`; further ones bring nothing.",
            rich_help_panel="With --qrels",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="suite: processes that score files.")
    ] = 1,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table for a README.")] = False,
    seed: Seed = 0,
    output: OutputFile = "-",
    quiet: Quiet = False,
) -> None:
    """Score runs against judgements: means over all judged queries, with 95 % intervals.

    With --task, score pairs of embeddings (structkit encode --field text_a --field text_b),
    or trees against gold trees.
    """
    from structkit.commands.score import names
    from structkit.commands.score import score as command
    from structkit.commands.score_table import write

    if (task is None) == (qrels is None):
        raise typer.BadParameter("give one of --qrels and --task")
    if (task is Task.classification) != bool(train):
        raise typer.BadParameter("--train goes with --task classification")
    if (task is Task.trees) != (gold is not None):
        raise typer.BadParameter("--gold goes with --task trees")
    others = [*(queries or ()), *(compare or ()), *(by_records or ()), *filter(None, [gold])]
    others += [*(train or ()), *(passages or ())]
    apart(output, *(runs or ["-"]), None if qrels == "self" else qrels, *others)
    if compare and task not in (None, Task.suite):
        raise typer.BadParameter("--compare goes with --qrels or --task suite")
    if task is Task.suite:
        from structkit.scoring.suite import suite

        # what --compare names is one of the models
        models = names(list(dict.fromkeys([*(runs or ["-"]), *(compare or ())])))
        known = [name for name, path in models.items() if path in (compare or ())]
        scores = suite(models, compare_with=known, seed=seed, seeds=seeds, workers=workers)
        return write(scores, output, markdown=markdown)
    if gold is not None:
        from structkit.commands.score_trees import trees

        return write(trees(names(runs), gold, seed=seed), output, markdown=markdown)
    if task is not None:
        scores = task_scores(task, names(runs), train or [], seeds, positive_above, seed)
        return write(scores, output, markdown=markdown)
    assert qrels is not None
    scores = command(
        names(runs),
        qrels,
        measures=measures.replace(",", " ").split(),
        per_query=per_query,
        queries=queries or (),
        gains=gains,
        compare_with=names(compare) if compare else None,
        by=by,
        by_records=by_records or (),
        by_mean=mean,
        passages=passages or (),
        seed=seed,
    )
    write(scores, output, markdown=markdown)


def task_scores(
    task: Task, files: Any, train: list[str], seeds: int, above: float, seed: int
) -> Any:
    """The scores of pairs of embeddings; only a classifier needs torch."""
    if task is Task.classification:
        from structkit.commands.score_classification import classification

        return classification(files, train, seed=seed, seeds=seeds)
    from structkit.commands.score_pairs import similarity, space

    if task is Task.space:
        return space(files, positive_above=above)
    return similarity(files, seed=seed)
