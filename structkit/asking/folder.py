"""A folder that is ready for questions: its passages as they are on disk now."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from structkit.asking.changes import FileChanges, changes
from structkit.asking.place import Target
from structkit.asking.postings import NAMES, IndexedFile, Postings
from structkit.asking.store import File, Store
from structkit.collecting.walking import Walk
from structkit.errors import UserError
from structkit.progress import Position, progress, say
from structkit.records.jsonl import Record
from structkit.records.texts import document_text


@dataclass
class Folder:
    """The files with passages, sorted by path, and their words; `store` has the records."""

    store: Store
    files: list[IndexedFile]
    postings: Postings
    new: bool = False
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._starts = [0, *accumulate(each.passages for each in self.files)]

    def __len__(self) -> int:
        return self._starts[-1]

    @classmethod
    def read(cls, store: Store, target: Target, walk: Walk, chunk_chars: int) -> Folder:
        """The folder as it is now; what changed since the last time is kept in the store."""
        known = store.files()
        changed = changes(target, walk, known)
        parts = store.parts(NAMES)
        postings = Postings.of(parts) if parts else Postings.empty()
        files = _indexed(changed.same.values())
        if changed or postings.files != files:
            with store.changing():
                files = _indexed(_read(store, changed, known, walk, chunk_chars))
                postings = postings.updated(files, lambda path: _texts(store, path))
                store.put_parts(postings.data())
        else:
            _tell(changed.faults)
        return cls(store, files, postings, new=not known)

    def records(self, passages: Iterable[int]) -> dict[int, Record]:
        """The records of passages by their number."""
        wanted: dict[int, list[int]] = {}  # of each file
        for passage in passages:
            wanted.setdefault(bisect_right(self._starts, passage) - 1, []).append(passage)
        chosen: dict[int, Record] = {}
        for file, numbers in wanted.items():
            records = self.store.records(self.files[file].path)
            chosen.update((number, records[number - self._starts[file]]) for number in numbers)
        return chosen

    def all_records(self, files: Iterable[str]) -> Iterator[Record]:
        """All records of some files."""
        for path in files:
            yield from self.store.records(path)


def _indexed(files: Iterable[File]) -> list[IndexedFile]:
    known = (IndexedFile(file.path, file.hash, file.passages) for file in files if file.passages)
    return sorted(known)


def _texts(store: Store, path: str) -> Iterator[str]:
    return (document_text(record, paths=True) for record in store.records(path))


def _read(
    store: Store, changed: FileChanges, known: Mapping[str, File], walk: Walk, chunk_chars: int
) -> list[File]:
    """All files, with those that changed read again."""
    # imports grammars and parsers, which an answer from the cache does not need
    from structkit.asking.reading import PassageReader

    start = time.monotonic()
    reader = PassageReader(walk.max_file_bytes, chunk_chars, faults=changed.faults)
    files = dict(changed.same)
    store.drop(changed.gone)
    with progress("read", lambda: Position(reader.done, reader.done, len(changed.pending))):
        for file, records in reader.read(changed, known):
            store.put(file, records)
            files[file.path] = file
    store.drop(path for source, _ in changed.pending if (path := source.path) not in files)
    if not known:
        passages = sum(file.passages for file in files.values())
        left = Counter(file.problem for file in files.values() if file.problem)
        reasons = "; ".join(f"{count:,} x {problem}" for problem, count in left.most_common(4))
        say(
            f"read {len(files):,} files, {passages:,} passages, in "
            f"{time.monotonic() - start:.1f} s"
            + (f"; {left.total():,} left out ({reasons})" if left else "")
        )
    _tell(reader.faults)
    return list(files.values())


def _tell(faults: Sequence[UserError]) -> None:
    """Say what cannot be read: the first file, and how many more there are."""
    if faults:
        more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
        say(f"{faults[0]}{more}")
