"""The user's own folders, as the XDG Base Directory Specification has them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def cache_folder(*names: str) -> Path:
    """A folder of structkit's for what can be made again."""
    return _folder("XDG_CACHE_HOME", Path(".cache"), names)


def data_folder(*names: str) -> Path:
    """A folder of structkit's for what the user keeps."""
    return _folder("XDG_DATA_HOME", Path(".local", "share"), names)


def keep_torch_apart() -> None:
    """Let torch keep what it compiles in the user's cache, not in a folder for temporary files.

    It makes the folder when it is imported: one that cannot be made stays where torch wants it.
    """
    with suppress(RuntimeError):  # a user without a home
        folder = cache_folder("torch")
        there = next(each for each in folder.parents if os.path.exists(each))
        if os.access(there, os.W_OK | os.X_OK):
            os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


def _folder(variable: str, usual: Path, names: tuple[str, ...]) -> Path:
    said = os.environ.get(variable, "")
    # the specification ignores a path that is not absolute
    base = Path(said) if os.path.isabs(said) else Path.home() / usual
    return base.joinpath("structkit", *names)
