"""Writing folders: whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from structkit.errors import UserError
from structkit.records.output import cannot_write
from structkit.records.partial import partial_of


def refuse_existing(folder: str, flag: str) -> None:
    """Raise if the folder exists already."""
    if os.path.lexists(folder):
        raise UserError(f"{folder} exists", f"name a new folder with {flag}, or remove it")


@contextmanager
def whole_folder(folder: str, flag: str) -> Iterator[Path]:
    """An empty folder to fill; at the end it gets its name and replaces an older one.

    Errors: `UserError` that names the flag, where the system refuses; then nothing has changed.
    """
    target = os.path.realpath(folder)
    partial = Path(partial_of(target))
    new, old = partial / "new", partial / "old"
    try:
        new.mkdir(parents=True)
        yield new
        with suppress(FileNotFoundError):
            os.replace(target, old)
        try:
            os.replace(new, target)
        except OSError:
            os.replace(old, target)
            raise
    except OSError as error:
        raise cannot_write(error, flag=flag).at(folder) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
