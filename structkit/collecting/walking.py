"""Which files there are: folders, single files, patterns and archives, sorted by path."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structkit.collecting.archives import Archives
from structkit.collecting.sources import (
    ALIKE,
    ARCHIVE,
    COMPRESSED,
    HIDDEN,
    IGNORED,
    LINK,
    OUTPUT,
    SPECIAL,
    VERSIONS,
    Found,
    Ignoring,
    LeftOut,
    Source,
    content_of,
    files_in,
    is_archive,
    is_packed,
    readable_path,
)
from structkit.errors import UserError
from structkit.paths import is_pipe
from structkit.records.lines import cannot_read
from structkit.settings import setting


@dataclass(frozen=True, kw_only=True)
class WalkOptions:
    """Which of the files found are read."""

    max_file_bytes: int = setting(2_000_000, "Leave out larger files.", low=1, group="Files")
    hidden: bool = setting(False, "Include files and folders that start with a dot.", group="Files")
    no_ignore: bool = setting(False, "Include what .gitignore and .ignore exclude.", group="Files")

    def walk(self, **others: Any) -> Walk:
        """A walk with these options."""
        return Walk(self.hidden, not self.no_ignore, self.max_file_bytes, **others)


@dataclass(frozen=True)
class Walk:
    """Which of the files found are read: the flags of the command."""

    hidden: bool = False
    ignore_files: bool = True
    max_file_bytes: int = 2_000_000
    archives: bool = False  # include those in folders; one that is named is always read
    outputs: frozenset[str] = field(default_factory=frozenset)  # what is written, as real paths

    def sources(self, paths: Sequence[str]) -> Iterator[Found]:
        """Every file under the paths, sorted by path, each once; `-` reads paths from stdin.

        Two files whose names are the same text are a fault: one is not UTF-8.
        """
        roots = {os.path.normpath(path): path for path in _named(paths)}
        seen: dict[str, str] = {}
        for root in sorted(roots, key=lambda root: _sort_key(root, os.path.isdir(roots[root]))):
            for found in self._root(readable_path(root), roots[root]):
                if len(roots) == 1 and "\\" not in found.path:  # it comes once
                    yield found
                    continue
                file = found.file if isinstance(found, Source) else ""
                before = seen.get(found.path)
                if before is None:
                    seen[found.path] = file
                    yield found
                elif before and file and not os.path.samefile(before, file):
                    yield LeftOut.because(found.path, UserError(*ALIKE))

    def _root(self, shown: str, path: str) -> Iterator[Found]:
        try:
            status = os.stat(path)
        except OSError as error:
            yield LeftOut.because(shown, cannot_read(error))
            return
        if os.path.isdir(path):
            yield from self._folder(shown, path)
        elif is_packed(path):
            yield from self._archive(shown, path)
        elif is_pipe(path):  # whose content is there once
            with open(path, "rb") as handle:
                yield content_of(shown, handle, self.max_file_bytes, file=path)
        else:
            yield Source(shown, path, size=status.st_size)

    def _archive(self, shown: str, path: str) -> Iterator[Found]:
        archives = Archives(self.hidden, self.ignore_files, self.max_file_bytes)
        yield from archives.sources(shown, path)

    def _folder(self, shown: str, path: str) -> Iterator[Found]:
        """All files of a folder, depth first; links are not followed, so that each comes once."""
        real = os.path.realpath(path)
        rules = Ignoring.above(Path(real)) if self.ignore_files else Ignoring()
        prefix = "" if shown == "." else shown.rstrip("/") + "/"
        # open folders: what is left of each, its rules, and its two names
        stack = [self._open(prefix, real.rstrip("/") + "/", rules)]
        while stack:
            entry = next(stack[-1].entries, None)
            if entry is None:
                stack.pop()
                continue
            found = self._entry(entry, stack[-1])
            if isinstance(found, _Folder):
                stack.append(found)
            elif self.archives and isinstance(found, Source) and is_packed(found.file):
                yield from self._archive(found.path, found.file)
            else:
                yield found

    def _open(self, shown: str, real: str, rules: Ignoring) -> _Folder:
        inside = rules.within(real, files_in(real)) if self.ignore_files else rules
        entries: list[os.DirEntry[str]] | list[OSError]
        try:
            with os.scandir(real) as found:
                entries = sorted(found, key=lambda each: _sort_key(each.name, _is_folder(each)))
        except OSError as error:
            entries = [error]
        return _Folder(shown, real, inside, iter(entries))

    def _entry(self, entry: os.DirEntry[str] | OSError, here: _Folder) -> Found | _Folder:
        if isinstance(entry, OSError):
            return LeftOut.because(readable_path(here.shown) or ".", cannot_read(entry))
        path, real = readable_path(here.shown + entry.name), here.real + entry.name
        folder = _is_folder(entry)
        if entry.name in VERSIONS or (entry.name.startswith(".") and not self.hidden):
            return LeftOut(path, *HIDDEN)
        if here.rules.hides(real + "/" * folder):
            return LeftOut(path, *IGNORED)
        if entry.is_symlink():
            return LeftOut(path, *LINK)
        if folder:
            return self._open(f"{here.shown}{entry.name}/", real + "/", here.rules)
        if not entry.is_file():
            return LeftOut(path, *SPECIAL)
        if self._is_output(real):
            return LeftOut(path, *OUTPUT)
        if is_packed(path) and not self.archives:
            return LeftOut(path, *(ARCHIVE if is_archive(path) else COMPRESSED))
        try:
            return Source(path, real, size=entry.stat().st_size)
        except OSError as error:
            return LeftOut.because(path, cannot_read(error))

    def _is_output(self, real: str) -> bool:
        if real in self.outputs:
            return True
        folder, name = os.path.split(real)
        # what is being written has another name until it is complete
        return name.endswith(".partial") and any(
            os.path.dirname(output) == folder and name.startswith(f".{os.path.basename(output)}.")
            for output in self.outputs
        )


@dataclass(frozen=True)
class _Folder:
    """A folder that is being walked."""

    shown: str
    real: str
    rules: Ignoring
    entries: Iterator[os.DirEntry[str] | OSError]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _sort_key(name: str, folder: bool) -> bytes:
    """The key that sorts whole paths: `a.py` before what is in the folder `a`."""
    return os.fsencode(name.rstrip("/") + "/" if folder else name)


def _named(paths: Sequence[str]) -> Iterator[str]:
    """The paths that are meant; a wrong name raises before any work is done."""
    for path in paths:
        if path == "-":
            data = sys.stdin.buffer.read()
            names = data.split(b"\0" if b"\0" in data else b"\n")
            yield from (os.fsdecode(name) for name in names if name)
        elif os.path.lexists(path):
            yield path
        elif glob.has_magic(path):
            yield from _matches(path)
        else:
            raise UserError("does not exist", "check the name").at(path or "PATH")


def _matches(pattern: str) -> list[str]:
    """The paths that match a pattern; `**` follows no links, so that it ends."""
    parts = Path(pattern).parts
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    base, wanted = Path(*parts[:fixed]), parts[fixed:]
    dots = any(part.startswith(".") for part in wanted)
    matches = [
        str(match)
        for match in base.glob(str(Path(*wanted)))
        if dots or not any(part.startswith(".") for part in match.parts[fixed:])
    ]
    if not matches:
        raise UserError(f"no path matches {pattern}", "check the pattern", status=2)
    return matches
