"""Which paths `.gitignore` and `.ignore` exclude: the rules of a folder apply to all in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pathspec

FILES = (".gitignore", ".ignore")  # the later one counts
LONGEST = 10_000  # characters of a pattern: no path is as long
VERSIONS = frozenset((".git", ".hg", ".svn", ".jj"))  # never of interest


@dataclass(frozen=True)
class Ignoring:
    r"""The rules of the folders on the way to a path; the innermost one that applies counts.

    >>> rules = Ignoring().within("a/", {".gitignore": b"*.o\n!b.o"}.get)
    >>> [rules.hides(path) for path in ("a/a.o", "a/b.o", "a/a.c")]
    [True, False, False]
    """

    rules: tuple[tuple[int, pathspec.GitIgnoreSpec], ...] = ()

    def within(self, folder: str, read: Callable[[str], bytes | None]) -> Ignoring:
        """These rules and those of a folder, whose name ends with a slash."""
        rules = self.rules
        for name in FILES:
            lines = (read(name) or b"").decode("utf-8", "replace").splitlines()
            if any(line.strip() and not line.startswith("#") for line in lines):
                rules = (*rules, (len(folder), _rules(lines)))
        return Ignoring(rules) if rules != self.rules else self

    def hides(self, path: str) -> bool:
        """Whether a path is ignored; a folder's ends with a slash."""
        for length, spec in reversed(self.rules):
            told = spec.check_file(path[length:]).include
            if told is not None:
                return told
        return False


def _rules(lines: list[str]) -> pathspec.GitIgnoreSpec:
    good = []
    for line in lines:
        if len(line) > LONGEST:
            continue
        try:
            pathspec.GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git also skips a pattern that it does not understand
        good.append(line)
    return pathspec.GitIgnoreSpec.from_lines(good)


def read_in(folder: str) -> Callable[[str], bytes | None]:
    """A reader of the files of a folder on the disk."""

    def read(name: str) -> bytes | None:
        try:
            return Path(folder, name).read_bytes()
        except OSError:
            return None

    return read


def above(folder: Path) -> Ignoring:
    """The rules that apply to a folder from outside it: up to the root of its repository."""
    ignoring = Ignoring()
    for outer in reversed(list(_up_to_repository(folder))):
        ignoring = ignoring.within(f"{outer}/".replace("//", "/"), read_in(str(outer)))
    return ignoring


def _up_to_repository(folder: Path) -> Iterator[Path]:
    outside = [folder, *folder.parents]
    root = next((each for each in outside if (each / ".git").exists()), None)
    if root is not None:
        yield from outside[1 : outside.index(root) + 1]
