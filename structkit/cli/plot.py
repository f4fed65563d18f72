"""Draw embeddings, ranking probabilities, measures, losses, trees."""

from __future__ import annotations

from typing import Annotated

import typer

from structkit.cli.numbers import CheckedTyper
from structkit.cli.options import (
    Files,
    Picture,
    Quiet,
    Seed,
)
from structkit.cli.streams import apart

RECORDS = {
    "reads": (
        "embeddings: `id`, `embedding`; ranks: `query_id`, `doc_id`, `score`; runs: `run`, "
        "`MEASURE`, `MEASURE_low`, `MEASURE_high`; losses: `step`, `loss`; "
        "trees: `tree`, `FIELD_tree`"
    ),
}
EXAMPLES = """
structkit plot embeddings pages.npy queries.jsonl -o embeddings.svg
structkit parse-trees sentences.jsonl --field text | structkit plot trees -o trees.svg
"""


plot = CheckedTyper(
    help="Draw what the papers draw, to .svg, .png or .pdf (extra: plot).",
    no_args_is_help=True,
)


@plot.command("embeddings", short_help="Embeddings in two dimensions, by t-SNE.")
def plot_embeddings(
    files: Annotated[
        list[str], typer.Argument(help="Embeddings: JSONL or .npy, one color per file.")
    ],
    output: Picture,
    after: Annotated[
        list[str] | None,
        typer.Option(help="Embeddings after a training: drawn beside the files, which are before."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="Rows to draw of each file.")] = 500,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Draw the embeddings of files (queries, documents) in two dimensions, by t-SNE."""
    apart(output, *files, *(after or ()))
    from structkit.commands.plot_embeddings import embeddings

    embeddings(files, output, after=after or (), sample=sample, seed=seed)


@plot.command("ranks", short_help="How probable the relevant documents are.")
def plot_ranks(
    runs: Annotated[list[str], typer.Argument(help="Run files, JSONL or TREC.")],
    output: Picture,
    qrels: Annotated[str, typer.Option(help="Judgements, or `self`.")],
    temperature: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1e6,
            help="Divides the scores; default: of each run what makes its relevant documents most "
            "probable.",
        ),
    ] = None,
    bins: Annotated[int, typer.Option(min=1, max=1000, help="Bars of the histogram.")] = 20,
    quiet: Quiet = False,
) -> None:
    """Draw a histogram of the softmax probability of each query's relevant document."""
    apart(output, *runs, None if qrels == "self" else qrels)
    from structkit.commands.plot import ranks

    ranks(runs, qrels, output, temperature=temperature, bins=bins)


@plot.command("runs", short_help="Measures with intervals, by run and group.")
def plot_runs(
    files: Annotated[list[str], typer.Argument(help="What `structkit score` wrote, as JSONL.")],
    output: Picture,
    measure: Annotated[
        str | None, typer.Option(help="Default: all in the files; by groups the first.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw measures of runs as bars with 95 % intervals, one grouped as by `score --by`."""
    apart(output, *files)
    from structkit.commands.plot import runs

    runs(files, output, measure=measure)


@plot.command("losses", short_help="Losses over the steps of training runs.")
def plot_losses(
    files: Annotated[
        list[str], typer.Argument(help="Model folders, or logs of `train --log-format json`.")
    ],
    output: Picture,
    quiet: Quiet = False,
) -> None:
    """Draw the loss over the steps of training runs."""
    apart(output, *files)
    from structkit.commands.plot import losses

    losses(files, output)


@plot.command("trees", short_help="Trees: to a picture, or as text.")
def plot_trees(
    files: Files = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Picture to write: .svg, .png or .pdf; .txt or - is text."
        ),
    ] = "-",
    field: Annotated[
        list[str] | None,
        typer.Option(help="Field with a tree; several are side by side; default: all trees."),
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, max=20, help="Draw this many records.")
    ] = 1,
    quiet: Quiet = False,
) -> None:
    """Draw the trees of records, for example a parser's beside those that a model makes."""
    apart(output, *(files or ["-"]))
    from structkit.commands.plot_trees import trees
    from structkit.records.jsonl import Records

    trees(Records.read(files or []), output, fields=field or (), number=number)
