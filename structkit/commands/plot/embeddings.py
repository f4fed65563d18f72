"""Draw embeddings in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structkit.commands.plot.pictures import COLORS, MARKERS, PictureSettings, looks, names, save
from structkit.errors import UserError
from structkit.extras import require
from structkit.seeds import key
from structkit.settings import Command, file_setting, seed_setting, setting

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw the embeddings of files (queries, documents) in two dimensions, by t-SNE."""

    files: tuple[str, ...] = file_setting(
        "Embeddings: JSONL or .npy, one color per file.", ..., metavar="FILES", argument=True
    )
    sample: int = setting(500, "Rows to draw of each file.", low=1)
    seed: int = seed_setting()


def embeddings(settings: Settings) -> None:
    """Draw the embeddings of files (queries, documents, …) in two dimensions, by t-SNE.

    At most `sample` rows of each file are drawn, by seed. Source: van der Maaten, Hinton, 2008;
    SANTA, fig. 4; SEAL, fig. 3.
    """
    named = names(settings.files)
    places = _places(
        [_sample(*each, settings) for each in zip(settings.files, named, strict=True)],
        settings.seed,
    )

    def draw(axes: Any) -> None:
        rows = zip(named, places, looks(MARKERS, COLORS), strict=False)
        for name, points, (marker, color) in rows:
            look = {"s": 14, "marker": marker, "color": color, "alpha": 0.7, "label": name}
            axes.scatter(points[:, 0], points[:, 1], **look)
        axes.set(xticks=[], yticks=[])
        axes.legend()

    save(draw, settings.output, (5, 5))


def _places(parts: Sequence[Floats], seed: int) -> list[Floats]:
    """The places (rows, 2) of the rows of each part."""
    import numpy as np

    if len({part.shape[1] for part in parts}) > 1:
        problem = "the files have embeddings of different dimensions"
        raise UserError(problem, "encode with one model")
    rows = np.concatenate(parts)  # (rows, dimensions)
    if len(rows) < 4:
        raise UserError(f"{len(rows)} embeddings are too few to draw", "give at least 4")
    reduced = require("sklearn.manifold", "plot").TSNE(
        init="pca",
        perplexity=min(30, (len(rows) - 1) / 3),
        random_state=key(seed, "tsne") % 2**32,
    )
    places: list[Floats] = np.split(
        reduced.fit_transform(rows), np.cumsum([len(part) for part in parts])[:-1]
    )
    return places


def _sample(file: str, name: str, settings: Settings) -> Floats:
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
