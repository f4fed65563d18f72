"""Draw measures of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structkit.commands.plot.pictures import FILLS, HATCHES, PictureSettings, label, looks, save
from structkit.errors import UserError, flag, missing, program
from structkit.progress import say
from structkit.records.jsonl import Record, Records
from structkit.records.lines import shown
from structkit.settings import Command, file_setting, setting

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw measures of runs as bars with 95 % intervals, one grouped as by `score --by`."""

    files: tuple[str, ...] = file_setting(
        "What `structkit score` wrote, as JSONL.", ..., metavar="FILES", argument=True
    )
    measure: str | None = setting(None, "Default: all in the files; by groups the first.")


def runs(settings: Settings) -> None:
    """Draw measures with intervals, from what `structkit score` wrote (with --by: groups).

    Without groups, all measures that the records have are drawn, or `measure` alone; with groups
    one, by default the first.
    """
    import numpy as np

    measures, group, records = _scores(settings.files, settings.measure)
    name = measures[0]
    if group and len(measures) > 1:
        others = " or ".join(flag("measure", each) for each in measures[1:])
        say(f"{name} is drawn; for another, {others}")
    labels = list(dict.fromkeys(label(record[group]) for record in records)) if group else measures
    series = list(dict.fromkeys(label(record["run"]) for record in records))
    width = 0.8 / len(series)

    def draw(axes: Any) -> None:
        rows = zip(series, looks(HATCHES, FILLS), strict=False)
        for number, (run, (hatch, fill)) in enumerate(rows):
            of_run = [record for record in records if label(record["run"]) == run]
            bars = [(each, of) for each in of_run for of in ([name] if group else measures)]
            at = [labels.index(label(each[group]) if group else of) for each, of in bars]
            values, errors = _with_errors(bars)
            places = np.array(at) + (number - (len(series) - 1) / 2) * width
            look = {"capsize": 3, "color": fill, "hatch": hatch, "edgecolor": "black"}
            axes.bar(places, values, width, yerr=errors, label=run, **look)
        ylabel = name if group else "score, 95 % interval"
        axes.set(ylabel=ylabel, xlabel=group or "", ylim=(0, None))
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
