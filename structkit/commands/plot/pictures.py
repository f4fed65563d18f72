"""Pictures: the same bytes from the same data, and looks that need no color to be told apart."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.paths import names_of
from structkit.progress import printable
from structkit.records.output import Output
from structkit.settings import quiet_setting, setting

FORMATS = (".svg", ".png", ".pdf")
# distinguishable without color too
MARKERS, LINES = "o^sDvP*X", ("-", "--", ":", "-.")
# of different lightness
COLORS = ("#08306b", "#e8873a", "#7b3294", "#3f9e6d", "#f2b134")


@dataclass(frozen=True, kw_only=True)
class PictureSettings:
    """Where a picture is written."""

    output: str = setting(..., "Picture to write: .svg, .png or .pdf.", short="-o", writes=True)
    quiet: bool = quiet_setting()

    def __post_init__(self) -> None:
        if Path(self.output).suffix not in FORMATS:
            problem = f"{flag('output', self.output)} names no picture format"
            raise UserError(problem, f"use one of the endings {', '.join(FORMATS)}", status=2)


def save(draw: Callable[[Any], None], path: str, size: tuple[float, float]) -> None:
    """Write what is drawn on the axes of a new figure of a size in inches."""
    save_figure(lambda figure: draw(figure.subplots()), path, size)


def save_figure(draw: Callable[[Any], None], path: str, size: tuple[float, float]) -> None:
    """Write what is drawn on a new figure of a size in inches, whole or not at all."""
    matplotlib = require("matplotlib", "plot")
    figure_class = require("matplotlib.figure", "plot").Figure
    plain = {"svg.hashsalt": "structkit", "font.size": 10, "text.parse_math": False}
    ending, picture = Path(path).suffix, io.BytesIO()
    with matplotlib.rc_context(plain):
        figure = figure_class(figsize=size, layout="constrained")
        draw(figure)
        metadata = {"Date": None} if ending == ".svg" else None
        figure.savefig(picture, format=ending[1:], dpi=150, metadata=metadata)
    with Output(path) as output:
        output.write(picture.getvalue())


def looks(*kinds: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """One of each kind after the other: markers, lines, hatches, colors."""
    return zip(*map(cycle, kinds), strict=False)


def names(files: Sequence[str]) -> list[str]:
    """The names of files as they are drawn, without control characters."""
    # a legend leaves out what starts with _
    return [re.sub("^_", " _", printable(name)) for name in names_of(files)]
