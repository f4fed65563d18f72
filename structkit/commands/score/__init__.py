"""Score runs against judgements, or embeddings on a task."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from structkit.command import Command
from structkit.commands.score.settings import Settings, TableOptions
from structkit.records.jsonl import Record


def score(settings: Settings) -> Iterator[Record]:
    """One record for each run: measures averaged over all judged queries, with 95 % intervals.

    Runs are files, records, or a dict of such by the names to print. With a `task`, they are pairs
    of embeddings, or trees: what is scored then is in the file of this folder that is named so.
    """
    scores: Iterator[Record] = import_module(
        f"structkit.commands.score.{settings.task or 'runs'}"
    ).scored(settings)
    return scores


def _main(settings: Settings, options: TableOptions) -> None:
    from structkit.records.table import write_drawn

    def draw(records: list[Record], width: int | None) -> str:
        from structkit.commands.score.table import table

        return table(records, options.markdown, width)

    write_drawn(score(settings), options.output, draw, always=options.markdown)


COMMAND = Command(
    score,
    Settings,
    _main,
    also=(TableOptions,),
    reads="`query_id`, `doc_id`, `score`; judgements: `query_id`, `doc_id`, `relevance` or "
    "`label`; with --task: `embedding` of both, `score` or `label`, or `tree`",
    writes="`run`, `queries`, `missing`, `unjudged`, and of each measure `MEASURE`, "
    "`MEASURE_low`, `MEASURE_high`",
    examples="""
structkit score dense.jsonl bm25.jsonl --qrels self --measures 'nDCG@10 RR@10'
structkit score dense.jsonl --qrels self --compare bm25.jsonl
structkit parse-trees --parser chunk sentences.jsonl -o found.jsonl
structkit score --task trees --gold trees.jsonl found.jsonl
""",
)
