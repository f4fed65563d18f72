"""JSON files of model folders: regular files alone, and one clear error for a damaged one.

Tests: tests/learning/encoders/test_damaged_models.py.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import orjson

from structkit.errors import UserError

AGAIN = "copy the model folder again"


def json_of(file: Path) -> Any:
    """Return the content of a JSON file; None if there is none.

    Errors: `UserError` for what is no regular file (a pipe would wait for ever), or no JSON.
    """
    try:
        # opening a pipe for reading waits for a writer, unless it is opened so
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:
            if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                raise irregular(file)
            return orjson.loads(handle.read())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(f"cannot be read: {error}", file) from None


def check_regular(folder: Path) -> None:
    """Raise for an entry of a folder that is neither a file nor a folder: reading could hang."""
    for entry in os.scandir(folder):
        try:
            mode = entry.stat().st_mode
        except OSError:  # a link to nothing, which whoever reads it reports
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise irregular(Path(entry.path))


def irregular(file: Path) -> UserError:
    """Return the error for a pipe, a device or a socket in a model folder."""
    return damaged("is not a regular file", file)


def damaged(problem: str, file: Path | None = None) -> UserError:
    """Return the error with the file, if it is known, and the remedy."""
    error = UserError(problem, AGAIN)
    return error if file is None else error.at(str(file))
