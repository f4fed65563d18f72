"""Where a folder's cache is: in the user's cache folder, named by what it is a cache of."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

import structkit
from structkit.machine import cache_folder, data_folder
from structkit.registry import plugins

GRAMMAR = re.compile(r"^import (tree_sitter\w+)", re.MULTILINE)
FORMAT = 3  # of the cache: with another number it is another cache


@dataclass(frozen=True)
class Target:
    """What is asked about: a folder, a file or an archive, as it was named and as it is found."""

    named: str
    real: str

    @classmethod
    def of(cls, named: str) -> Target:
        real = os.path.realpath(named)
        return cls(named, real if os.path.exists(real) else os.path.abspath(named))  # of a pipe

    @property
    def _root(self) -> str:
        """What the paths of passages are relative to: the folder, the archive or the file."""
        return self.real.rstrip("/") + "/"

    def within(self, path: str) -> str:
        """The path of a file in the target; its name if it is the target itself."""
        if path == self.real:
            return os.path.basename(path)
        return path.removeprefix(self._root)

    def shown(self, path: str) -> str:
        """A path in the target, from the user's current folder; a web address stays as it is."""
        if "://" in path:
            return path
        name = os.path.normpath(self.named)
        if not os.path.isdir(self.real) and path == os.path.basename(self.real):
            return name
        return path if name == "." else os.path.join(name, path)


def default_folder() -> Path:
    """The user's folder for caches of questions."""
    return cache_folder("ask")


def default_model() -> Path:
    """Where the model is that is used unless another is named."""
    return data_folder("ask-model")


def cache_file(folder: Path, target: Target, settings: Mapping[str, Any]) -> Path:
    """The cache file of a target that is read with these settings, by this version and plugins."""
    found = [each for each in plugins() if each.kind == "language"]
    languages = [(each.pack, each.name, each.path.stat().st_mtime_ns) for each in found]
    parsers = grammars(each.path for each in found)
    real = os.fsdecode(target.real)
    key = [FORMAT, structkit.__version__, languages, parsers, real, settings]
    name = hashlib.blake2b(orjson.dumps(_plain(key)), digest_size=12).hexdigest()
    return folder / f"{name}.sqlite"


def grammars(languages: Iterable[Path]) -> dict[str, int]:
    """When each grammar that a language imports, and what runs them, was installed: another one."""
    imported = (name for file in languages for name in GRAMMAR.findall(file.read_text("utf-8")))
    found = {name: find_spec(name) for name in sorted({"tree_sitter", *imported})}
    return {
        name: os.stat(spec.origin).st_mtime_ns
        for name, spec in found.items()
        if spec and spec.origin
    }


def _plain(value: Any) -> str:
    """A key as text; file names may not be valid Unicode."""
    return ascii(value)
