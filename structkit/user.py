"""The user's own folders, as the XDG Base Directory Specification has them."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(*names: str) -> Path:
    """A folder of structkit's for what can be made again."""
    return _folder("XDG_CACHE_HOME", Path(".cache"), names)


def data_folder(*names: str) -> Path:
    """A folder of structkit's for what the user keeps."""
    return _folder("XDG_DATA_HOME", Path(".local", "share"), names)


def _folder(variable: str, usual: Path, names: tuple[str, ...]) -> Path:
    said = os.environ.get(variable, "")
    # the specification ignores a path that is not absolute
    base = Path(said) if os.path.isabs(said) else Path.home() / usual
    return base.joinpath("structkit", *names)
