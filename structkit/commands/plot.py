"""Draw what the papers draw: ranking probabilities, measures by group, losses."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from structkit.embeddings.vectors import Floats
from structkit.errors import UserError, missing
from structkit.learning.folders.facts import LOSSES
from structkit.pictures import COLORS, FILLS, HATCHES, LINES, MARKERS, drawn, label, names
from structkit.progress import say
from structkit.records.jsonl import Record, Records, shown
from structkit.records.output import Output
from structkit.scoring.qrels import Qrels, read_qrels
from structkit.scoring.runs import Run, read_run

NUMBER = re.compile(r"-?\d+(\.\d+)?")


def ranks(
    runs: Sequence[str], qrels: str, path: str, *, temperature: float | None = None, bins: int = 20
) -> None:
    """Draw how probable each query's relevant document is among those found, as a histogram.

    The probability is the softmax of the scores of a query; a document that was not found has 0.
    Scores of other models have other scales: without a `temperature`, each run has that which makes
    its relevant documents most probable, and the legend tells it. Source: SANTA, fig. 3a.
    """
    if (temperature is not None and temperature <= 0) or bins < 1:
        raise UserError("--temperature or --bins is not above 0", "the defaults work", status=2)
    judged = None if qrels == "self" else read_qrels(qrels)
    of_runs: dict[str, Floats] = {}
    for name, run in zip(names(runs), map(read_run, runs), strict=True):
        relevant = judged or _own(run)
        fits = fitted_temperature(run, relevant) if temperature is None else temperature
        of_runs[f"{name} (temperature {fits:.2g})"] = probabilities(run, relevant, fits)

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
    below = (_below(run.get(query_id, {}), judged) for query_id, judged in qrels.items())
    with np.errstate(over="ignore"):  # far below the best is a probability of 0
        return np.array([1 / np.exp(each / temperature).sum() for each in below])


def _below(documents: Mapping[str, float], judged: Mapping[str, int]) -> Floats:
    """How far each score is above that of the best relevant document, infinitely if none is there.

    A document that is infinitely far above it makes its probability 0.
    """
    found = [documents[name] for name in judged if judged[name] > 0 and name in documents]
    if not found:
        return np.array([np.inf])
    return np.array(list(documents.values()), np.float64) - max(found)


def fitted_temperature(run: Run, qrels: Qrels) -> float:
    """The temperature with which the relevant documents that were found are most probable.

    Of 49 from a thousandth to a thousand times the scores' mean deviation. Source: Guo et al.,
    ICML 2017, temperature scaling.

    >>> run = {f"q{n}": {"a": 0.2, "b": 0.1} for n in range(5)}
    >>> qrels = {f"q{n}": {"a" if n else "b": 1} for n in range(5)}  # a is right in 4 of 5
    >>> probabilities(run, qrels, fitted_temperature(run, qrels)).round(1).tolist()
    [0.2, 0.8, 0.8, 0.8, 0.8]
    """
    below = [_below(run.get(query_id, {}), judged) for query_id, judged in qrels.items()]
    below = [each for each in below if np.isfinite(each).all()]
    spread = float(np.mean([each.std() for each in below])) if below else 0.0
    if not spread:  # all are equal, or none was found: any will do
        return 1.0

    def surprise(temperature: float) -> float:
        # logaddexp does not overflow where exp does
        return float(sum(np.logaddexp.reduce(each / temperature) for each in below))

    return float(min(spread * np.geomspace(1e3, 1e-3, 49), key=surprise))


def runs(files: Sequence[str], path: str, *, measure: str | None = None) -> None:
    """Draw measures with intervals, from what `structkit score` wrote (with --by: groups).

    Without groups, all measures that the records have are drawn, or `measure` alone; with groups
    one, by default the first. Groups that are numbers, such as lengths, are along an axis; others
    have bars.
    """
    measures, group, records = _scores(files, measure)
    name = measures[0]
    if group and len(measures) > 1:
        say(f"{name} is drawn; for another, --measure {' or '.join(measures[1:])}")
    if group and _are_numbers({record[group] for record in records}):
        _save(lambda axes: _lines(axes, records, name, group), path, (6, 4))
        return
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

    _save(draw, path, (max(5.0, 1.2 * len(labels) * max(1, len(series) / 3)), 4))


def _with_errors(bars: Sequence[tuple[Record, str]]) -> tuple[Floats, Floats]:
    """The values of measures of records, (bars,), and how far their intervals reach: (2, bars)."""
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
        raise _nothing(files)
    return names, group, scored


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


def _measures(record: Record) -> list[str]:
    """The measures of a score record: those with an interval."""
    measures = [name for name in record if f"{name}_low" in record]
    if not measures or "run" not in record:
        raise UserError(
            "the records are not scores of runs", "give what `structkit score` writes as JSONL"
        )
    return measures


def _save(draw: Callable[[Any], None], path: str, size: tuple[float, float]) -> None:
    """Draw on new axes and write the whole picture."""
    picture = drawn(lambda figure: draw(figure.subplots()), path, size)
    with Output(path) as output:
        output.write(picture)
