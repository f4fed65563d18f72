"""What is known of each passage, in two segments: an update costs what changed, not the whole.

Tests: tests/asking/test_updates.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import orjson

from structkit.embeddings.vectors import Int8Rows, Numbers

SEGMENTS = ("large ", "small ")  # what the names of their data begin with
CHANGED = 4  # the large one is made again when more than such a part of it has changed


class IndexedFile(NamedTuple):
    """A file with passages in an index."""

    path: str
    hash: str
    passages: int


def indexed_files(data: bytes) -> list[IndexedFile]:
    """Return the files of an index from what `data_of` returned."""
    return [IndexedFile(*each) for each in orjson.loads(data)]


def data_of(files: Iterable[IndexedFile]) -> bytes:
    """Return the files of an index as bytes."""
    return orjson.dumps([list(each) for each in files])


def of_files(files: Sequence[IndexedFile], rows: Int8Rows) -> dict[IndexedFile, Int8Rows]:
    """Return the rows of each file, of those of all their passages."""
    starts = accumulate((each.passages for each in files), initial=0)
    parts = (rows.take(slice(first, end)) for first, end in pairwise(starts))
    return dict(zip(files, parts, strict=True))


def passages_of(files: Iterable[IndexedFile]) -> int:
    """Return the number of passages of files."""
    return sum(each.passages for each in files)


class Segment(Protocol):
    """Data of each passage of some files, in any order."""

    @property
    def files(self) -> Sequence[IndexedFile]:
        """The files, whose passages follow each other."""
        ...


S = TypeVar("S", bound=Segment)


def changed(
    segments: Sequence[S],
    added: S,
    wanted: Sequence[IndexedFile],
    join: Callable[[Sequence[S], Sequence[IndexedFile]], S],
) -> list[S]:
    """Return a large segment, and a small one of what changed since, that have the wanted files.

    The large one stays as it is, with files that are gone, until a quarter of it has changed: so an
    update costs what changed.
    """
    large, small = segments
    known = {*large.files}
    new = [each for each in wanted if each not in known]
    size, more = passages_of(large.files), passages_of(new)
    gone = size + more - passages_of(wanted)
    if CHANGED * (gone + more) > size:
        return [join([large, small, added], wanted), join([small], [])]
    return [large, join([small, added], new)]


def present(segments: Sequence[Segment], gone: bytes) -> list[IndexedFile]:
    """Return the files of segments that are not gone, sorted by path."""
    without = {*indexed_files(gone)}
    return sorted(each for some in segments for each in some.files if each not in without)


def data_of_gone(segments: Sequence[Segment], wanted: Iterable[IndexedFile]) -> bytes:
    """Return the files of segments that are not wanted, as bytes."""
    return data_of({each for some in segments for each in some.files}.difference(wanted))


def places(wanted: Sequence[IndexedFile], segments: Sequence[Segment]) -> list[Numbers]:
    """Return the number of each passage of each segment among those of the wanted files.

    It is -1 where the file is not wanted, or is in an earlier segment; each (passages,).
    """
    starts = accumulate((each.passages for each in wanted), initial=0)
    first = dict(zip(wanted, starts, strict=False))
    found = list[Numbers]()
    for some in segments:
        sizes = np.array([each.passages for each in some.files], np.int64)
        own = np.repeat(np.cumsum(sizes) - sizes, sizes)  # the first passage of each one's file
        place = np.array([first.pop(each, -1) for each in some.files], np.int64).repeat(sizes)
        found.append(np.where(place < 0, -1, place + np.arange(len(own)) - own))
    return found
