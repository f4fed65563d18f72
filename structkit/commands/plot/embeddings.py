"""Draw embeddings in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from structkit.command import Command
from structkit.commands.plot.pictures import COLORS, MARKERS, PictureSettings, names, save_figure
from structkit.errors import UserError
from structkit.extras import require
from structkit.seeds import key
from structkit.settings import seed_setting, setting

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw the embeddings of files (queries, documents) in two dimensions, by t-SNE."""

    files: tuple[str, ...] = setting(
        ...,
        "Embeddings: JSONL or .npy, one color per file.",
        argument=True,
        metavar="FILES",
        reads=True,
    )
    after: tuple[str, ...] = setting(
        (),
        "Embeddings after a training: drawn beside the files, which are before.",
        metavar="FILE",
        reads=True,
    )
    sample: int = setting(500, "Rows to draw of each file.", low=1)
    seed: int = seed_setting()


def embeddings(settings: Settings) -> None:
    """Draw the embeddings of files (queries, documents, …) in two dimensions, by t-SNE.

    At most `sample` rows of each file are drawn, by seed; those of `after` a training are beside
    the others. Source: van der Maaten, Hinton, 2008; SANTA, fig. 4; SEAL, fig. 3.
    """
    files, after = settings.files, settings.after
    panels = {"before": files, "after": after} if after else {"": files}
    places = {title: _places(each, settings) for title, each in panels.items()}

    def draw(figure: Any) -> None:
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, each) in zip(row, panels.items(), strict=True):
            looks = zip(cycle(MARKERS), cycle(COLORS), strict=False)
            named = zip(names(each), places[title], looks, strict=False)
            for name, points, (marker, color) in named:
                look = {"s": 14, "marker": marker, "color": color, "alpha": 0.7, "label": name}
                axes.scatter(points[:, 0], points[:, 1], **look)
            axes.set(xticks=[], yticks=[], title=title)
            axes.legend()

    save_figure(draw, settings.output, (5 * len(panels), 5))


def _places(files: Sequence[str], settings: Settings) -> list[Floats]:
    """The places (rows, 2) of the rows of each file."""
    import numpy as np

    parts = [_sampled(*each, settings) for each in zip(files, names(files), strict=True)]
    if len({part.shape[1] for part in parts}) > 1:
        raise UserError(
            "the files have embeddings of different dimensions", "encode with one model"
        )
    rows = np.concatenate(parts)  # (rows, dimensions)
    if len(rows) < 4:
        raise UserError(f"{len(rows)} embeddings are too few to draw", "give at least 4")
    reduced = require("sklearn.manifold", "plot").TSNE(
        init="pca",
        perplexity=min(30, (len(rows) - 1) / 3),
        random_state=key(settings.seed, "tsne") % 2**32,
    )
    places: list[Floats] = np.split(
        reduced.fit_transform(rows), np.cumsum([len(part) for part in parts])[:-1]
    )
    return places


def _sampled(file: str, name: str, settings: Settings) -> Floats:
    """The rows of a file that are drawn, (rows, dimensions), by its name."""
    import numpy as np

    from structkit.embeddings.reading import read_embeddings

    embeddings = read_embeddings([file])
    rows = np.arange(len(embeddings.ids))
    if len(rows) > settings.sample:
        generator = np.random.default_rng(key(settings.seed, name))
        rows = np.sort(generator.choice(rows, settings.sample, replace=False))
    return np.asarray(embeddings.vectors[rows], np.float64)


COMMAND = Command(embeddings, Settings, embeddings)
