"""The error for a model folder of ours that is damaged."""

from __future__ import annotations

from pathlib import Path

from structkit.errors import UserError

AGAIN = "copy the model folder again"


def damaged(problem: str, file: Path | None = None) -> UserError:
    """The error with the file, if it is known, and the remedy."""
    error = UserError(problem, AGAIN)
    return error if file is None else error.at(str(file))
