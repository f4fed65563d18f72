"""What a command writes is none of what it reads, told before anything is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from structkit.errors import UserError

# what stands beside NAME.npy
BESIDE = (".ids.txt", ".doc_ids.txt", ".fields.jsonl", ".hashes.txt", ".meta.json")
# other tools read these names as what JSON lines are not
TAKEN = (".npy", ".npz", ".parquet")
REMEDY = "name another place"


def keep_apart(
    writes: Iterable[tuple[str, str | None]],
    reads: Iterable[str | None],
    *,
    replaced: Sequence[str | None] = (),
    folders: Sequence[str] = (),
) -> None:
    """Raise where a path that is written is read too, is written twice, or has an empty name.

    `writes` are flags and their paths, `reads` paths; None is none, `-` is stdout or stdin, and a
    folder holds what is in it: `folders` are the flags that write one. `replaced` are inputs whose
    place `-o` may take when all is read.
    """
    written = [
        (flag, name, _Place.of(name, 1))
        for flag, path in writes
        if path is not None
        for name in _together(_named(path, flag))
    ]
    names = [name for name in (*reads, *replaced) if name is not None]
    inputs = [(name, _Place.of(_named(name), 0)) for name in names]
    for (flag, path, place), (name, source) in product(written, inputs):
        holds = flag in folders and _inside(source, place)
        if not source.there or not (holds or place.same(source) or _inside(place, source)):
            continue
        if place.same(source) and flag == "-o" and path != "-" and name in replaced:
            continue
        raise UserError(f"{_told(flag, path)} {_relation(place, source, name)}", REMEDY, status=2)
    for (flag, path, place), (other, its_path, its_place) in combinations(written, 2):
        if flag != other and place.same(its_place):
            raise UserError(f"{flag} and {other} name the same file", "name two", status=2)
        if flag != other and place.touches(its_place):
            problem = f"{flag} {path} and {other} {its_path} are one inside the other"
            raise UserError(problem, REMEDY, status=2)


def lines_name(path: str, *others: str) -> None:
    """Raise for a file of JSON lines whose name says something else; `others` can be written."""
    ending = next((end for end in TAKEN if path.removesuffix(".gz").endswith(end)), None)
    if ending and not path.endswith(others):
        known = " or ".join([*others, ".jsonl"])
        raise UserError(f"-o {path} is no name of what is written", f"name it {known}", status=2)


@dataclass(frozen=True)
class _Place:
    """Where a path leads: through links, and by its number on the disk where it exists."""

    path: str
    number: tuple[int, int] | None = None
    there: bool = False
    file: bool = False

    @classmethod
    def of(cls, name: str, standard: int) -> _Place:
        """The place of a file, or of stdin (0) or stdout (1) for `-`."""
        path = os.path.realpath(("/dev/stdin", "/dev/stdout")[standard] if name == "-" else name)
        try:
            status = os.fstat(standard) if name == "-" else os.stat(path)
        except OSError:
            return cls(path)
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            return cls("")  # a device or a pipe keeps nothing
        number, file = (status.st_dev, status.st_ino), stat.S_ISREG(status.st_mode)
        return cls(path, number, there=True, file=file)

    def same(self, other: _Place) -> bool:
        if self.number and self.number == other.number:
            return True
        return bool(self.path) and self.path == other.path

    def touches(self, other: _Place) -> bool:
        """Whether they are the same, or one is inside the other, a folder."""
        return self.same(other) or _inside(self, other) or _inside(other, self)


def _inside(inner: _Place, outer: _Place) -> bool:
    if outer.file or not inner.path or not outer.path:
        return False
    return inner.path.startswith(outer.path.rstrip("/") + "/")


def _together(path: str) -> list[str]:
    """The files that are written under a name."""
    stem = path.removesuffix(".npy")
    return [path, *(stem + ending for ending in BESIDE)] if stem != path else [path]


def _named(path: str, flag: str = "an input") -> str:
    if not path:
        raise UserError(f"{flag} has an empty name", "name a file", status=2)
    return path


def _told(flag: str, path: str) -> str:
    return "stdout" if path == "-" else f"{flag} {path}"


def _relation(place: _Place, source: _Place, name: str) -> str:
    shown = "stdin" if name == "-" else name
    if not place.same(source):
        return f"and the input {shown} are one inside the other"
    return f"is the input {shown}"
