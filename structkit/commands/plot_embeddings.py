"""Draw embeddings in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from structkit.embeddings.reading import Embeddings, read_embeddings
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.extras import require
from structkit.pictures import COLORS, MARKERS, drawn, names
from structkit.records.output import Output
from structkit.seeds import key


def embeddings(
    files: Sequence[str], path: str, *, after: Sequence[str] = (), sample: int = 500, seed: int = 0
) -> None:
    """Draw the embeddings of files (queries, documents, …) in two dimensions, by t-SNE.

    At most `sample` rows of each file are drawn, by seed; those of `after` a training are beside
    the others. Source: van der Maaten, Hinton, 2008; SANTA, fig. 4; SEAL, fig. 3.
    """
    panels = {"before": files, "after": after} if after else {"": files}
    places = {title: _places(each, sample, seed) for title, each in panels.items()}

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

    picture = drawn(draw, path, (5 * len(panels), 5))
    with Output(path) as output:
        output.write(picture)


def _places(files: Sequence[str], sample: int, seed: int) -> list[Floats]:
    """The places (rows, 2) of the rows of each file."""
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
    places: list[Floats] = np.split(
        reduced.fit_transform(rows), np.cumsum([len(part) for part in parts])[:-1]
    )
    return places


def _sampled(embeddings: Embeddings, sample: int, seed: int) -> Floats:
    rows = np.arange(len(embeddings.ids))
    if len(rows) > sample:
        rows = np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))
    return np.asarray(embeddings.vectors[rows], np.float64)
