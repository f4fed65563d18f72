"""No command writes to what it reads: checked before anything is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

from structkit.errors import UserError

# other tools expect something other than JSON lines in files of these names
TAKEN = (".npy", ".npz", ".parquet")
REMEDY = "choose another path"


def keep_apart(
    writes: Iterable[tuple[str, str | None]],
    reads: Iterable[str | None],
    *,
    replaced: Sequence[str | None] = (),
) -> None:
    """Raise if a path that is written is also read, is written twice, or is empty.

    And if stdin, or another pipe, is read twice.

    `writes` are flags with their paths, `reads` are paths; None is skipped, `-` is stdout or stdin.
    A folder is written with all that is in it. `replaced` are inputs that `-o` may replace once
    everything is read.
    """
    written = [
        (flag, path, _Place.of(_named(path, flag), 1)) for flag, path in writes if path is not None
    ]
    names = [name for name in (*reads, *replaced) if name is not None]
    if names.count("-") > 1:
        raise UserError("stdin is read twice", "give a file for one of them", status=2)
    inputs = [(name, _Place.of(_named(name), 0)) for name in names]
    pipes = [place.pipe for _, place in inputs]
    if again := [name for name, place in inputs if place.pipe and pipes.count(place.pipe) > 1]:
        problem = f"{again[-1]} is a pipe and is read twice"
        raise UserError(problem, "give a file for one of them", status=2)
    for (flag, path, place), (name, source) in product(written, inputs):
        if not source.there or not place.touches(source):
            continue
        if place.same(source) and flag == "-o" and path != "-" and name in replaced:
            continue
        raise UserError(f"{_told(flag, path)} {_relation(place, source, name)}", REMEDY, status=2)
    for (flag, path, place), (other, its_path, its_place) in combinations(written, 2):
        if flag != other and place.same(its_place):
            raise UserError(f"{flag} and {other} name the same file", "name two files", status=2)
        if flag != other and place.touches(its_place):
            problem = f"of {flag} {path} and {other} {its_path}, one is inside the other"
            raise UserError(problem, REMEDY, status=2)


class Named(str):
    """The path of a file that has a name of its own, as what a program holds in memory has."""

    name: str

    def __new__(cls, path: str, name: str = "") -> Named:
        """A path with the name to show for it."""
        made = super().__new__(cls, path)
        made.name = name
        return made


def names_of(files: Sequence[str], stdin: str = "-") -> list[str]:
    """The names to show for files: without folders and endings, if they stay distinct.

    >>> names_of(["runs/bm25.jsonl.gz", "runs/santa.trec"])
    ['bm25', 'santa']
    """
    short = [stdin if file == "-" else Path(file).name.partition(".")[0] for file in files]
    named = [getattr(file, "name", name) for file, name in zip(files, short, strict=True)]
    return named if len(set(named)) == len(files) else list(files)


def is_pipe(name: str) -> bool:
    """Whether an input can be read only once, from its beginning to its end."""
    try:
        status = os.fstat(0) if name == "-" else os.stat(name)
    except OSError:
        return False
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)


def refuse_pipe(name: str, kind: str) -> None:
    """Raise for a pipe where files of a kind are not read from the beginning to the end."""
    if is_pipe(name):
        problem = f"is a pipe, and {kind} is read in any order"
        raise UserError(problem, "write it to a file, and name that", status=2).at(name)


def lines_name(path: str, *others: str) -> None:
    """Raise for JSON lines in a file named as another format; endings in `others` are allowed."""
    ending = next((end for end in TAKEN if path.removesuffix(".gz").endswith(end)), None)
    if ending and not path.endswith(others):
        known = " or ".join([*others, ".jsonl"])
        raise UserError(f"-o {path}: no {ending} file is written", f"name it {known}", status=2)


@dataclass(frozen=True)
class _Place:
    """Where a path leads, through links, and its device and inode number if it keeps something."""

    path: str
    number: tuple[int, int] | None = None
    there: bool = False
    file: bool = False
    pipe: tuple[int, int] | None = None  # its number, if it can be read once

    @classmethod
    def of(cls, name: str, standard: int) -> _Place:
        """The place of a file, or of stdin (0) or stdout (1) for `-`."""
        path = os.path.realpath(("/dev/stdin", "/dev/stdout")[standard] if name == "-" else name)
        try:
            status = os.fstat(standard) if name == "-" else os.stat(name)
        except OSError:
            return cls(path)
        mode, number = status.st_mode, (status.st_dev, status.st_ino)
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a device or a pipe keeps nothing
            return cls("", pipe=number if is_pipe(name) else None)
        return cls(path, number, there=True, file=stat.S_ISREG(mode))

    def same(self, other: _Place) -> bool:
        if self.number and self.number == other.number:
            return True
        return bool(self.path) and self.path == other.path

    def touches(self, other: _Place) -> bool:
        """Whether they are the same, or one is inside the other."""
        return self.same(other) or _inside(self, other) or _inside(other, self)


def _inside(inner: _Place, outer: _Place) -> bool:
    if outer.file or not inner.path or not outer.path:
        return False
    return inner.path.startswith(outer.path.rstrip("/") + "/")


def _named(path: str, flag: str = "an input") -> str:
    if not path:
        raise UserError(f"{flag} has an empty name", "name a file", status=2)
    return path


def _told(flag: str, path: str) -> str:
    return "stdout" if path == "-" else f"{flag} {path}"


def _relation(place: _Place, source: _Place, name: str) -> str:
    shown = "stdin" if name == "-" else name
    if not place.same(source):
        return f"and the input {shown}: one is inside the other"
    return f"is the input {shown}"
