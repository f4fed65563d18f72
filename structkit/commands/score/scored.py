"""Settings and output that all tasks of `score` share.

Tests: tests/commands/test_score.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from structkit.errors import UserError, flag, unknown, wrong_usage
from structkit.paths import names_of
from structkit.records.jsonl import Record
from structkit.records.output import write_drawn
from structkit.records.stream import OutputOptions
from structkit.settings import file_setting, seed_setting, setting, settings_class

QRELS_GROUP = "With {qrels}"


def by_name(runs: Sequence[str]) -> dict[str, str]:
    """Return runs by their printed names.

    >>> by_name(["runs/bm25.jsonl.gz", "-"])
    {'bm25': 'runs/bm25.jsonl.gz', 'run': '-'}
    """
    return dict(zip(names_of(runs, stdin="run"), runs, strict=True))


@settings_class
class Scored:
    """The files that are scored."""

    runs: tuple[str, ...] = file_setting(
        "Run files, JSONL or TREC ({task}: pairs, trees); stdin if none, or for -.",
        ("-",),
        metavar="RUNS",
        argument=True,
    )
    seed: int = seed_setting()

    @property
    def named_runs(self) -> dict[str, str]:
        """The runs by the names to print for them."""
        return by_name(self.runs)


@settings_class
class Compared(Scored):
    """Files that are scored alone, or beside others."""

    compare: tuple[str, ...] = file_setting(
        "Test every run against this one, in pairs; for suite, every model on each task.",
        (),
        metavar="RUN",
        group=QRELS_GROUP,
    )


@settings_class
class TableOptions(OutputOptions):
    """Settings of the output of scores and of its format."""

    markdown: bool = setting(False, "Write a Markdown table.")
    fail_below: tuple[str, ...] = setting(
        (),
        "Exit with status 1 if a record's value is lower (for CI).",
        metavar="MEASURE=VALUE",
        parse=lambda text: "=".join(map(str, limit_of(text))),
    )


def limit_of(text: str) -> tuple[str, float]:
    """Return the measure and its lowest value in `MEASURE=VALUE`.

    >>> limit_of("P(rel=2)@1=0.5")
    ('P(rel=2)@1', 0.5)
    """
    name, _, number = text.rpartition("=")
    try:
        lowest = float(number) if name else math.nan
    except ValueError:
        lowest = math.nan
    if math.isnan(lowest):
        raise wrong_usage(
            f"{flag('fail_below', text)} is not MEASURE=VALUE", "write it as nDCG@10=0.6"
        )
    return name, lowest


def check_limit(records: Sequence[Record], name: str, lowest: float) -> None:
    """Raise if a record's measure is lower, or if none has the measure."""
    values = [{each["measure"]: each["value"]} if "measure" in each else each for each in records]
    if not any(name in each for each in values):
        known = {key for each in values for key, value in each.items() if isinstance(value, float)}
        ends = {f"{key}_{end}" for key in known for end in ("low", "high")}
        raise unknown("measure", name, known - ends)
    for record, value_of in zip(records, values, strict=True):
        if name in value_of and not value_of[name] >= lowest:
            texts = {key: text for key, text in record.items() if isinstance(text, str)}
            of = (f"{key} {text}" for key, text in texts.items() if key != "measure")
            problem = f"{name} is {value_of[name]:.6g}, below {lowest:g}"
            raise UserError(f"{', '.join(of)}: {problem}", "")


def write_scores(
    work: Callable[[Any], Iterator[Record]], settings: Scored, options: TableOptions
) -> None:
    """Write the scores of a task as records or a table, and check the limits."""

    def draw(records: list[Record], width: int | None) -> str:
        from structkit.commands.score.table import score_table

        return score_table(records, options.markdown, width)

    records: Iterable[Record] = work(settings)
    if options.fail_below:
        records = kept = list(records)
    write_drawn(records, options.output, draw, always=options.markdown)
    for text in options.fail_below:
        check_limit(kept, *limit_of(text))
