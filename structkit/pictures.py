"""Pictures: the same bytes from the same data."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structkit.errors import UserError
from structkit.extras import require
from structkit.progress import say

FORMATS = (".svg", ".png", ".pdf")


def drawn(draw: Callable[[Any], None], path: str, size: tuple[float, float]) -> bytes:
    """What a path is to hold: what is drawn on a new figure of a size in inches."""
    ending = Path(path).suffix
    if ending not in FORMATS:
        raise UserError(
            f"-o {path} names no picture format",
            f"use one of the endings {', '.join(FORMATS)}",
            status=2,
        )
    matplotlib = require("matplotlib", "plot")
    figure_class = require("matplotlib.figure", "plot").Figure
    plain = {"svg.hashsalt": "structkit", "font.size": 10, "text.parse_math": False}
    with matplotlib.rc_context(plain), warnings.catch_warnings(record=True) as warned:
        figure = figure_class(figsize=size, layout="constrained")
        draw(figure)
        picture = io.BytesIO()
        metadata = {"Date": None} if ending == ".svg" else None
        figure.savefig(picture, format=ending[1:], dpi=150, metadata=metadata)
    if any("missing from font" in str(each.message) for each in warned):
        say(f"{path}: the font lacks some letters of the names; they are drawn as boxes")
    return picture.getvalue()
