"""Draw measures of runs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from structkit.command import Command
from structkit.commands.plot.pictures import (
    COLORS,
    FILLS,
    HATCHES,
    LINES,
    MARKERS,
    PictureSettings,
    label,
    save,
)
from structkit.errors import UserError, flag, missing, program
from structkit.progress import say
from structkit.records.jsonl import Record, Records
from structkit.records.lines import shown
from structkit.settings import setting

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats

NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw measures of runs as bars with 95 % intervals, one grouped as by `score --by`."""

    files: tuple[str, ...] = setting(
        ...,
        "What `structkit score` wrote, as JSONL.",
        argument=True,
        metavar="FILES",
        reads=True,
    )
    measure: str | None = setting(None, "Default: all in the files; by groups the first.")


def runs(settings: Settings) -> None:
    """Draw measures with intervals, from what `structkit score` wrote (with --by: groups).

    Without groups, all measures that the records have are drawn, or `measure` alone; with groups
    one, by default the first. Groups that are numbers, such as lengths, are along an axis; others
    have bars.
    """
    measures, group, records = _scores(settings.files, settings.measure)
    name = measures[0]
    if group and len(measures) > 1:
        others = " or ".join(flag("measure", each) for each in measures[1:])
        say(f"{name} is drawn; for another, {others}")
    if group and _are_numbers({record[group] for record in records}):
        save(lambda axes: _lines(axes, records, name, group), settings.output, (6, 4))
        return
    import numpy as np

    labels = list(dict.fromkeys(label(record[group]) for record in records)) if group else measures
    series = _runs(records)
    width = 0.8 / len(series)

    def draw(axes: Any) -> None:
        looks = zip(cycle(HATCHES), cycle(FILLS), strict=False)
        for number, (run, (hatch, fill)) in enumerate(zip(series, looks, strict=False)):
            of_run = [record for record in records if label(record["run"]) == run]
            bars = [(each, name) for each in of_run]
            if not group:
                bars = [(each, measure) for each in of_run for measure in measures]
            at = [labels.index(label(each[group]) if group else of) for each, of in bars]
            values, errors = _with_errors(bars)
            axes.bar(
                np.array(at) + (number - (len(series) - 1) / 2) * width,
                values,
                width,
                yerr=errors,
                capsize=3,
                color=fill,
                hatch=hatch,
                edgecolor="black",
                label=run,
            )
        axes.set(
            ylabel=name if group else "score, 95 % interval", xlabel=group or "", ylim=(0, None)
        )
        axes.set_xticks(range(len(labels)), labels)
        axes.legend(ncols=min(3, len(series)), fontsize="small")

    save(draw, settings.output, (max(5.0, 1.2 * len(labels) * max(1, len(series) / 3)), 4))


def _with_errors(bars: Sequence[tuple[Record, str]]) -> tuple[Floats, Floats]:
    """The values of measures of records, (bars,), and how far their intervals reach: (2, bars)."""
    import numpy as np

    values = np.array([record[name] for record, name in bars], np.float64)
    low = np.array([record.get(f"{name}_low", record[name]) for record, name in bars])
    high = np.array([record.get(f"{name}_high", record[name]) for record, name in bars])
    return values, np.abs([values - low, high - values])


def _lines(axes: Any, records: Sequence[Record], name: str, group: str) -> None:
    """Draw a measure of each run against the numbers that its groups are."""
    looks = zip(cycle(LINES), cycle(MARKERS), cycle(COLORS), strict=False)
    for run, (line, marker, color) in zip(_runs(records), looks, strict=False):
        of_run = [record for record in records if label(record["run"]) == run]
        of_run.sort(key=lambda record: float(record[group]))
        values, errors = _with_errors([(record, name) for record in of_run])
        look = {"linestyle": line, "marker": marker, "color": color, "capsize": 3, "label": run}
        axes.errorbar([float(record[group]) for record in of_run], values, errors, **look)
    axes.set(xlabel=label(group), ylabel=name, ylim=(0, None))
    axes.legend()


def _are_numbers(values: set[Any]) -> bool:
    """Whether the values of a field can be along an axis; `score --by` writes them as text."""
    return len(values) > 1 and all(NUMBER.fullmatch(str(value)) for value in values)


def _runs(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(label(record["run"]) for record in records))


def _scores(
    files: Sequence[str], measure: str | None
) -> tuple[list[str], str | None, list[Record]]:
    """The measures, the field by which they are grouped, and the records, which hold all of it."""
    records = Records.read(files)
    names, group = [measure] if measure else [], None
    scored: list[Record] = []
    for record in records:
        if not scored:
            names = names or _measures(record)
            group = next((key for key in list(record)[1:2] if key not in ("queries", "n")), None)
        first = names[0]
        if absent := [field for field in ("run", group or "run", first) if field not in record]:
            raise records.place(missing(absent[0], record))
        names = [name for name in names if name in record]  # what files have in common
        for field in (f"{name}{end}" for name in names for end in ("", "_low", "_high")):
            value = record.get(field, 0)
            if type(value) not in (int, float) or not math.isfinite(value):
                raise records.place(
                    UserError(f'field "{field}" is not a finite number', "compute the score again")
                )
        scored.append(record)
    if not scored:
        raise UserError("holds no records", "name a file that has some").at(shown(files[0]))
    return names, group, scored


def _measures(record: Record) -> list[str]:
    """The measures of a score record: those with an interval."""
    measures = [name for name in record if f"{name}_low" in record]
    if not measures or "run" not in record:
        raise UserError(
            "the records are not scores of runs", f"give what `{program('score')}` writes as JSONL"
        )
    return measures


COMMAND = Command(runs, Settings, runs)
