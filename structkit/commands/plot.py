"""Draw what the papers draw: embeddings, ranking probabilities, measures by group, losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError, missing
from structkit.extras import require
from structkit.pictures import drawn
from structkit.progress import printable
from structkit.records.jsonl import Record, Records, shown
from structkit.records.output import Output
from structkit.scoring.qrels import Qrels, read_qrels
from structkit.scoring.runs import Run, read_run
from structkit.seeds import key

# distinguishable without color too
MARKERS, LINES, HATCHES = "o^sDvP*X", ("-", "--", ":", "-."), ("", "//", "..", "xx", "--")
# of different lightness; those of bars are light, so that the hatches show
COLORS = ("#08306b", "#e8873a", "#7b3294", "#3f9e6d", "#f2b134")
FILLS = ("#5f7fb0", "#f9d5a7", "#a9d3a5", "#eadff2")


def embeddings(files: Sequence[str], path: str, *, sample: int = 500, seed: int = 0) -> None:
    """Draw the embeddings of files (queries, documents, …) in two dimensions, by t-SNE.

    At most `sample` rows of each file are drawn, by seed. Source: van der Maaten, Hinton, 2008;
    SANTA, fig. 4; SEAL, fig. 3.
    """
    parts = [_sampled(read_embeddings([file]), sample, key(seed, file)) for file in files]
    if len({part.shape[1] for part in parts}) > 1:
        raise UserError(
            "the files have embeddings of different dimensions", "encode with one model"
        )
    rows = np.concatenate(parts)  # (rows, dimensions)
    if len(rows) < 4:
        raise UserError(f"{len(rows)} embeddings are too few to draw", "give at least 4")
    reduced = require("sklearn.manifold", "plot").TSNE(
        init="pca", perplexity=min(30, (len(rows) - 1) / 3), random_state=key(seed, "tsne") % 2**32
    )
    places = np.split(reduced.fit_transform(rows), np.cumsum([len(part) for part in parts])[:-1])

    def draw(axes: Any) -> None:
        looks = zip(cycle(MARKERS), cycle(COLORS), strict=False)
        for name, points, (marker, color) in zip(_names(files), places, looks, strict=False):
            axes.scatter(
                points[:, 0], points[:, 1], s=14, marker=marker, color=color, alpha=0.7, label=name
            )
        axes.set(xticks=[], yticks=[])
        axes.legend()

    _save(draw, path, (5, 5))


def _sampled(embeddings: Embeddings, sample: int, seed: int) -> Floats:
    rows = np.arange(len(embeddings.ids))
    if len(rows) > sample:
        rows = np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))
    return np.asarray(embeddings.vectors[rows], np.float64)


def ranks(
    runs: Sequence[str], qrels: str, path: str, *, temperature: float = 1.0, bins: int = 20
) -> None:
    """Draw how probable each query's relevant document is among those found, as a histogram.

    The probability is the softmax of the scores of a query; a document that was not found has 0.
    Source: SANTA, fig. 3a.
    """
    if temperature <= 0 or bins < 1:
        raise UserError("--temperature or --bins is not above 0", "the defaults work", status=2)
    of_runs = {
        name: probabilities(run, _own(run) if qrels == "self" else read_qrels(qrels), temperature)
        for name, run in zip(_names(runs), map(read_run, runs), strict=True)
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
    """Draw a measure as bars with intervals, from what `structkit score` wrote (with --by: groups).

    `measure` is by default the first that the records have.
    """
    name, group, records = _scores(files, measure)
    labels = list(dict.fromkeys(_label(record[group]) if group else "" for record in records))
    series = list(dict.fromkeys(_label(record["run"]) for record in records))
    width = 0.8 / len(series)

    def draw(axes: Any) -> None:
        looks = zip(cycle(HATCHES), cycle(FILLS), strict=False)
        for number, (run, (hatch, fill)) in enumerate(zip(series, looks, strict=False)):
            of_run = [record for record in records if _label(record["run"]) == run]
            at = [labels.index(_label(record[group]) if group else "") for record in of_run]
            values = np.array([record[name] for record in of_run], np.float64)
            low = np.array([record.get(f"{name}_low", record[name]) for record in of_run])
            high = np.array([record.get(f"{name}_high", record[name]) for record in of_run])
            axes.bar(
                np.array(at) + (number - (len(series) - 1) / 2) * width,
                values,
                width,
                yerr=np.abs([values - low, high - values]),
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
    """Draw the loss over the steps, from what `train --log-format json` wrote on stderr."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for name, file in zip(_names(files), files, strict=True):
        for record in _records([file]):
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


def _names(files: Sequence[str]) -> list[str]:
    """The names to show for files: without folders and endings, if they stay distinct."""
    short = [Path(file).name.partition(".")[0] for file in files]
    return [_label(name) for name in (short if len(set(short)) == len(short) else files)]


def _label(value: object) -> str:
    """A name as it is drawn: without control characters; a legend leaves out one that starts _."""
    name = printable(str(value))
    return f" {name}" if name.startswith("_") else name


def _save(draw: Callable[[Any], None], path: str, size: tuple[float, float]) -> None:
    """Draw on new axes and write the whole picture."""
    picture = drawn(lambda figure: draw(figure.subplots()), path, size)
    with Output(path) as output:
        output.write(picture)
