"""Draw what the papers draw: ranking probabilities, measures by group, losses."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from structkit.embeddings.vectors import Floats
from structkit.errors import UserError, missing
from structkit.learning.folders.facts import LOSSES
from structkit.pictures import COLORS, FILLS, HATCHES, LINES, MARKERS, drawn, label, names
from structkit.records.jsonl import Record, Records, shown
from structkit.records.output import Output
from structkit.scoring.qrels import Qrels, read_qrels
from structkit.scoring.runs import Run, read_run

NUMBER = re.compile(r"-?\d+(\.\d+)?")


def ranks(
    runs: Sequence[str], qrels: str, path: str, *, temperature: float = 1.0, bins: int = 20
) -> None:
    """Draw how probable each query's relevant document is among those found, as a histogram.

    The probability is the softmax of the scores of a query; a document that was not found has 0.
    Source: SANTA, fig. 3a.
    """
    if temperature <= 0 or bins < 1:
        raise UserError("--temperature or --bins is not above 0", "the defaults work", status=2)
    judged = None if qrels == "self" else read_qrels(qrels)
    of_runs = {
        name: probabilities(run, judged or _own(run), temperature)
        for name, run in zip(names(runs), map(read_run, runs), strict=True)
    }

    def draw(axes: Any) -> None:
        edges = np.linspace(0, 1, bins + 1)
        looks = zip(cycle(LINES), cycle(COLORS), strict=False)
        for (name, values), (line, color) in zip(of_runs.items(), looks, strict=False):
            share = np.histogram(values, edges)[0] / len(values)
            axes.stairs(share, edges, linestyle=line, linewidth=1.8, color=color, label=name)
        axes.set(
            xlabel="ranking probability of the relevant document",
            ylabel="share of queries",
            xlim=(0, 1),
            ylim=(0, None),
        )
        axes.legend()

    _save(draw, path, (6, 4))


def _own(run: Run) -> Qrels:
    return {query_id: {query_id: 1} for query_id in run}


def probabilities(run: Run, qrels: Qrels, temperature: float = 1.0) -> Floats:
    """The highest softmax probability of a relevant document, for each judged query.

    >>> import math
    >>> run = {"q": {"a": math.log(3.0), "b": 0.0}}
    >>> probabilities(run, {"q": {"a": 1}, "r": {"c": 1}}).round(6).tolist()
    [0.75, 0.0]
    """
    bests = []
    for query_id, judged in qrels.items():
        documents = run.get(query_id, {})
        scores = np.array(list(documents.values()), np.float64)
        best = 0.0
        if len(scores):
            with np.errstate(over="ignore"):  # far below the best is a probability of 0
                exponentials = np.exp((scores - scores.max()) / temperature)
            share = dict(zip(documents, exponentials / exponentials.sum(), strict=True))
            best = max(
                (share.get(doc_id, 0.0) for doc_id in judged if judged[doc_id] > 0), default=0
            )
        bests.append(float(best))
    return np.array(bests)


def runs(files: Sequence[str], path: str, *, measure: str | None = None) -> None:
    """Draw a measure with intervals, from what `structkit score` wrote (with --by: groups).

    Groups that are numbers, such as lengths, are along an axis; others have bars. `measure` is by
    default the first that the records have.
    """
    name, group, records = _scores(files, measure)
    if group and _are_numbers({record[group] for record in records}):
        _save(lambda axes: _lines(axes, records, name, group), path, (6, 4))
        return
    labels = list(dict.fromkeys(label(record[group]) if group else "" for record in records))
    series = _runs(records)
    width = 0.8 / len(series)

    def draw(axes: Any) -> None:
        looks = zip(cycle(HATCHES), cycle(FILLS), strict=False)
        for number, (run, (hatch, fill)) in enumerate(zip(series, looks, strict=False)):
            of_run = [record for record in records if label(record["run"]) == run]
            at = [labels.index(label(record[group]) if group else "") for record in of_run]
            values, errors = _with_errors(of_run, name)
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
        axes.set(ylabel=name, xlabel=group or "", ylim=(0, None))
        axes.set_xticks(range(len(labels)), labels)
        axes.legend(ncols=min(3, len(series)), fontsize="small")

    _save(draw, path, (max(5.0, 1.2 * len(labels) * max(1, len(series) / 3)), 4))


def _with_errors(records: Sequence[Record], name: str) -> tuple[Floats, Floats]:
    """The values of a measure, (records,), and how far its interval reaches below and above."""
    values = np.array([record[name] for record in records], np.float64)
    low = np.array([record.get(f"{name}_low", record[name]) for record in records])
    high = np.array([record.get(f"{name}_high", record[name]) for record in records])
    return values, np.abs([values - low, high - values])


def _lines(axes: Any, records: Sequence[Record], name: str, group: str) -> None:
    """Draw a measure of each run against the numbers that its groups are."""
    looks = zip(cycle(LINES), cycle(MARKERS), cycle(COLORS), strict=False)
    for run, (line, marker, color) in zip(_runs(records), looks, strict=False):
        of_run = [record for record in records if label(record["run"]) == run]
        of_run.sort(key=lambda record: float(record[group]))
        values, errors = _with_errors(of_run, name)
        look = {"linestyle": line, "marker": marker, "color": color, "capsize": 3, "label": run}
        axes.errorbar([float(record[group]) for record in of_run], values, errors, **look)
    axes.set(xlabel=label(group), ylabel=name, ylim=(0, None))
    axes.legend()


def _are_numbers(values: set[Any]) -> bool:
    """Whether the values of a field can be along an axis; `score --by` writes them as text."""
    return len(values) > 1 and all(NUMBER.fullmatch(str(value)) for value in values)


def _runs(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(label(record["run"]) for record in records))


def _scores(files: Sequence[str], measure: str | None) -> tuple[str, str | None, list[Record]]:
    """The measure, the field by which it is grouped, and the records, which hold all of it."""
    records = Records.read(files)
    name, group = measure or "", None
    scored: list[Record] = []
    for record in records:
        if not scored:
            name = name or _measure(record)
            group = next((key for key in list(record)[1:2] if key not in ("queries", "n")), None)
        if absent := [field for field in ("run", group or "run", name) if field not in record]:
            raise records.place(missing(absent[0], record))
        for field in (name, f"{name}_low", f"{name}_high"):
            value = record.get(field, 0)
            if type(value) not in (int, float) or not math.isfinite(value):
                raise records.place(
                    UserError(f'field "{field}" is not a finite number', "compute the score again")
                )
        scored.append(record)
    if not scored:
        raise _nothing(files)
    return name, group, scored


def losses(files: Sequence[str], path: str) -> None:
    """Draw the loss over the steps, from model folders or what `train --log-format json` wrote."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for name, file in zip(names(files), files, strict=True):
        for record in _records([_log(file)]):
            if all(isinstance(record.get(each), int | float) for each in ("step", "loss")):
                steps, values = curves.setdefault(name, ([], []))
                steps.append(record["step"])
                values.append(record["loss"])
    if not curves:
        raise UserError("no line holds a step and a loss", "train with --log-format json").at(
            shown(files[0])
        )

    def draw(axes: Any) -> None:
        looks = zip(cycle(LINES), cycle(COLORS), strict=False)
        for (name, (steps, values)), (line, color) in zip(curves.items(), looks, strict=False):
            axes.plot(steps, values, linestyle=line, color=color, label=name)
        axes.set(xlabel="step", ylabel="loss")
        axes.legend()

    _save(draw, path, (6, 4))


def _log(name: str) -> str:
    """The log of a training: a file, or that in a model folder."""
    path = os.path.join(name, LOSSES) if os.path.isdir(name) else name
    if path != name and not os.path.exists(path):
        raise UserError(
            f"the folder holds no {LOSSES}", "name a model folder of `train`, or a log"
        ).at(name)
    return path


def _records(files: Sequence[str]) -> list[Record]:
    records = list(Records.read(files))
    if not records:
        raise _nothing(files)
    return records


def _nothing(files: Sequence[str]) -> UserError:
    file = shown((files or ["-"])[0])
    return UserError("holds no records", "name a file that has some").at(file)


def _measure(record: Record) -> str:
    """The first measure of a score record: the one with an interval."""
    measure = next((name for name in record if f"{name}_low" in record), None)
    if measure is None or "run" not in record:
        raise UserError(
            "the records are not scores of runs", "give what `structkit score` writes as JSONL"
        )
    return measure


def _save(draw: Callable[[Any], None], path: str, size: tuple[float, float]) -> None:
    """Draw on new axes and write the whole picture."""
    picture = drawn(lambda figure: draw(figure.subplots()), path, size)
    with Output(path) as output:
        output.write(picture)
