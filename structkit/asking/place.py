"""Where a folder's cache is: in the user's cache folder, by what it is a cache of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

import structkit
from structkit.registry import plugins
from structkit.user import cache_folder, data_folder

FORMAT = 2  # of what is kept: another one is another cache


@dataclass(frozen=True)
class Target:
    """What is asked: a folder, a file or an archive, as it was named and as it is found."""

    named: str
    real: str

    @classmethod
    def of(cls, named: str) -> Target:
        return cls(named, os.path.realpath(named))

    @property
    def _root(self) -> str:
        """What paths of passages are told from: in a folder or an archive, or beside a file."""
        return self.real.rstrip("/") + "/"

    def within(self, path: str) -> str:
        """The path of a file in the target; of the target itself its name."""
        if path == self.real:
            return os.path.basename(path)
        return path.removeprefix(self._root)

    def shown(self, path: str) -> str:
        """A path in the target as it is found from where the user is; an address stays."""
        if "://" in path:
            return path
        name = os.path.normpath(self.named)
        if os.path.isfile(self.real) and path == os.path.basename(self.real):
            return name
        return path if name == "." else os.path.join(name, path)


def default_folder() -> Path:
    """The user's folder for caches of questions."""
    return cache_folder("ask")


def default_model() -> Path:
    """Where a model is that is used without being named."""
    return data_folder("ask-model")


def cache_file(folder: Path, target: Target, settings: Mapping[str, Any]) -> Path:
    """The cache of a target that is read with some settings, by this version and its plugins."""
    languages = [
        (each.pack, each.name, each.path.stat().st_mtime_ns)
        for each in plugins()
        if each.kind == "language"
    ]
    key = [FORMAT, structkit.__version__, languages, os.fsdecode(target.real), settings]
    name = hashlib.blake2b(orjson.dumps(_plain(key)), digest_size=12).hexdigest()
    return folder / f"{name}.sqlite"


def _plain(value: Any) -> str:
    """A key as text; names of files may be no Unicode."""
    return ascii(value)
