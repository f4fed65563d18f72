"""Draw how probable relevant documents are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structkit.commands.plot.pictures import COLORS, LINES, PictureSettings, looks, names, save
from structkit.settings import Command, file_setting, setting

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats

BARS = 20


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw a histogram of the softmax probability of each query's relevant document."""

    runs: tuple[str, ...] = file_setting(
        "Run files, JSONL or TREC.", ..., metavar="RUNS", argument=True
    )
    qrels: str = setting(..., "Judgements, or `self`.", reads="self")
    temperature: float | None = setting(
        None,
        "Divides the scores; default: of each run what makes its relevant documents most probable.",
        low=1e-6,
        high=1e6,
    )


def ranks(settings: Settings) -> None:
    """Draw how probable each query's relevant document is among those found, as a histogram.

    The probability is the softmax of the scores of a query; a document that was not found has 0.
    Scores of other models have other scales: without a `temperature`, each run has that which makes
    its relevant documents most probable, and the legend tells it. Source: SANTA, fig. 3a.
    """
    import numpy as np

    from structkit.scoring.judgements import own
    from structkit.scoring.probabilities import fitted_temperature, probabilities
    from structkit.scoring.qrels import read_qrels
    from structkit.scoring.runs import read_run

    judged = None if settings.qrels == "self" else read_qrels(settings.qrels)
    of_runs: dict[str, Floats] = {}
    for name, run in zip(names(settings.runs), map(read_run, settings.runs), strict=True):
        relevant = own(run) if judged is None else judged
        fits = settings.temperature or fitted_temperature(run, relevant)
        of_runs[f"{name} (temperature {fits:.2g})"] = probabilities(run, relevant, fits)

    def draw(axes: Any) -> None:
        edges = np.linspace(0, 1, BARS + 1)
        rows = zip(of_runs.items(), looks(LINES, COLORS), strict=False)
        for (name, values), (line, color) in rows:
            share = np.histogram(values, edges)[0] / len(values)
            axes.stairs(share, edges, linestyle=line, linewidth=1.8, color=color, label=name)
        axes.set(
            xlabel="ranking probability of the relevant document",
            ylabel="share of queries",
            xlim=(0, 1),
            ylim=(0, None),
        )
        axes.legend()

    save(draw, settings.output, (6, 4))


COMMAND = Command(ranks, Settings, ranks)
