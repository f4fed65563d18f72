"""A folder that is ready for questions: its passages as they are on disk now, and their words.

Tests: tests/asking/test_cache.py, tests/asking/test_warm_folder.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import numpy as np
import orjson

from structkit.asking.cache import (
    File,
    IndexedFile,
    Segment,
    SegmentForm,
    Segments,
    SharedCaches,
    Store,
    Target,
    records_at,
    state_at,
    state_of,
)
from structkit.asking.links import Links
from structkit.asking.path_kinds import is_key_file, is_prose, path_kind, project_folders
from structkit.collecting.walking import Found, Source, Walk
from structkit.embeddings.vectors import Floats, Int8Rows, IntArray
from structkit.errors import UserError
from structkit.processes import cores, group_by_size
from structkit.progress import Position, format_count, progress, say
from structkit.records.fields import document_text
from structkit.records.jsonl import Record, cannot_read
from structkit.reproducibility import random_for
from structkit.searching.bm25 import POSTINGS_ARRAYS, Postings, WordIndex
from structkit.structure.bags import Bags

if TYPE_CHECKING:
    from structkit.collecting.units import Collected

MIN_PARALLEL_BYTES = 4 << 20  # from which several processes are worth starting
MAX_PROCESSES = 8

MAX_QUICK_SECONDS = 0.005  # of a processor; a faster walk runs for each question
MAX_WALK_SHARE = 0.05  # of the time, that slower walks take
MAX_STATE_SECONDS = 0.9  # after which a process walks again
CLOCK_TICK_NS = 2 * 10**9  # within which a file system may give two changes the same time
MAX_LICENCE_ROW = 3  # of the first line; lines for the interpreter may stand before it
HEADER_COMMENT = re.compile(
    r"""
    # lines for the interpreter and its settings
    (?: \s* (?: \#! | <\? | \# [ ] (?: -\*- | frozen_string ) ) [^\n]* \n )*+
    # a file's first comment
    \s* (?:
        /\* .*? \*/ | <!-- .*? --> | \(\* .*? \*\) | \{- .*? -\} | \"{3} .*? \"{3}
      | \.\. [^\n]* (?: \n [ \t]+ [^\n]* )*+  # of reStructuredText
      | (?: (?: \# | // | ; | -- | % | \" ) [^\n]* \n [ \t]* )+
    )
    """,
    re.VERBOSE | re.DOTALL,
)
LICENCE_WORD = re.compile(r"licen[cs]ed? |copyright|spdx-license|\(c\) \d{4}", re.IGNORECASE)
COMMIT_SECONDS = 2.0  # between commits: a killed process loses no more of its work
TASK_BYTES = 1 << 18  # of files that are read together
TASK_FILES = 64
NOT_INDEXED = "not indexed"  # the state of a file that is to be read again
KEY_PROBLEM = "with keys or passwords"
PRIVATE_KEY = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
SNAPSHOT = "snapshot"  # the part of a store with what the last walk found
STATE = "state"  # the `FolderState` in a store's memory
WORD_SEGMENTS = SegmentForm(
    "words ",
    ("words", *POSTINGS_ARRAYS),
    Postings.of_bags(Bags()),
    Postings.data,
    Postings.read,
    Postings.merge,
)
PendingFile = tuple[Source, str]  # a file to read, and its state
EmbedPassages = Callable[[Sequence[str], Bags], Int8Rows]  # returns embeddings of texts


@dataclass(frozen=True)
class WalkSnapshot:
    """Files that a walk found; they are the same until one of the `states` changes."""

    sources: list[Source]
    states: dict[str, str]  # of folders, ignore files and archives, by path

    @classmethod
    def of(cls, sources: list[Source], walk: Walk, now: int) -> WalkSnapshot | None:
        """Return the result of a walk that began at `now`; None if a change may go unnoticed."""
        places = walk.places or {}
        if any(status and status.st_ctime_ns >= now - CLOCK_TICK_NS for status in places.values()):
            return None
        # the content of files in an archive is not kept: it changes with the archive alone
        files = [each if each.file else replace(each, data=None) for each in sources]
        return cls(files, {path: state_of(status, path) for path, status in places.items()})

    @classmethod
    def unpack(cls, data: bytes | None) -> WalkSnapshot | None:
        """Restore a snapshot from the bytes that `pack` returned."""
        if not data:
            return None
        sources, states = json.loads(data)
        return cls([Source(path, file, root=root) for path, file, root in sources], states)

    def pack(self) -> bytes:
        """Return the snapshot as bytes; empty for a pipe, whose content can be read only once."""
        if any(source.data is not None for source in self.sources):
            return b""
        sources = [(source.path, source.file, source.root) for source in self.sources]
        # names may not be valid Unicode, which orjson refuses
        return json.dumps([sources, self.states]).encode()

    @property
    def is_current(self) -> bool:
        """Whether no state has changed."""
        return all(state == state_at(path) for path, state in self.states.items())


@dataclass
class FileChanges:
    """Files by what happened to them since they were read."""

    unchanged: dict[str, File] = field(default_factory=dict)
    pending: list[PendingFile] = field(default_factory=list)  # new, or perhaps changed
    removed: set[str] = field(default_factory=set)
    faults: list[UserError] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)  # all files that are there

    @classmethod
    def of(cls, target: Target, walk: Walk, known: Mapping[str, File]) -> FileChanges:
        """Compare the files of a target with the known ones."""
        changes = cls(removed={*known})
        for found in walk.sources(target.real):
            if isinstance(found, Source):
                source = replace(found, path=target.relative_path(found.path))
                changes.add(source, source.status, known)
            elif found.fault:
                changes.faults.append(found.error)
        return changes

    @classmethod
    def since(cls, snapshot: WalkSnapshot, known: Mapping[str, File]) -> FileChanges:
        """Compare the files of a current snapshot with the known ones."""
        changes = cls(removed={*known})
        for source in snapshot.sources:
            with suppress(OSError):  # a file was removed meanwhile
                status = os.lstat(source.file) if source.file else None
                changes.add(source, status, known)
        return changes

    def add(self, source: Source, status: os.stat_result | None, known: Mapping[str, File]) -> None:
        """Add a file with its status after comparing it with its known state."""
        state, file = state_of(status), known.get(source.path)
        self.sources.append(source)
        self.removed.discard(source.path)
        # a file in an archive has its content only after a walk: its archive has changed
        if file and file.state == state and source.data is None:
            self.unchanged[source.path] = file
        else:
            if not source.status:
                source = replace(source, status=status)
            self.pending.append((source, state))


@dataclass(frozen=True)
class FolderState:
    """State of a target, which a process uses until the next walk."""

    files: dict[str, File]
    folder: Folder
    snapshot: WalkSnapshot | None
    faults: Sequence[UserError]
    until: float  # as of `time.monotonic`


@dataclass
class Folder:
    """The files with passages, sorted by path."""

    store: Store  # has the records of the passages
    index: Segments[Postings]  # has their words

    def __post_init__(self) -> None:
        self.files = self.index.files
        self._first_passages = [0, *accumulate(file.passages for file in self.files)]

    def __len__(self) -> int:
        return self._first_passages[-1]

    @cached_property
    def words(self) -> WordIndex:
        """The words of the passages."""
        return WordIndex(self.index.numbered)

    @cached_property
    def file_numbers(self) -> IntArray:
        """The number of each passage's file, (passages,)."""
        return np.repeat(np.arange(len(self.files)), [file.passages for file in self.files])

    @cached_property
    def _is_page(self) -> IntArray:
        return np.array([is_prose(file.path) for file in self.files], np.int64)

    def is_mostly_pages(self, chosen: Floats) -> bool:
        """Return whether two thirds of the files with `chosen` passages are pages of prose."""
        has_chosen = np.bincount(self.file_numbers, chosen, len(self.files)) > 0
        return bool(3 * self._is_page[has_chosen].sum() > 2 * has_chosen.sum())

    @cached_property
    def _projects(self) -> frozenset[str]:
        return project_folders(file.path for file in self.files)

    def path_in_project(self, path: str) -> str:
        """Return the path of a file below its top folder if this is a project of its own."""
        top, _, below = path.partition("/")
        return below if below and top in self._projects else path

    def kind_of(self, path: str) -> str:
        """Return the kind of a file, one of `KINDS`."""
        return path_kind(self.path_in_project(path))

    @cached_property
    def links(self) -> Links:
        """The links between its pages."""
        return Links.read(self.store, self.files, np.flatnonzero(self._is_page).tolist())

    def link_scores(self, asked: Sequence[str]) -> Floats:
        """Return the highest cosine with words that link to each passage's page, (passages,)."""
        return self.links.scores(asked, len(self.files))[self.file_numbers]

    @classmethod
    def read(
        cls,
        store: Store,
        target: Target,
        walk: Walk,
        embedder: Callable[[], EmbedPassages | None] = lambda: None,
        *,
        secrets: bool = False,
    ) -> Folder:
        """Return the folder as it is now, and write what changed to the store.

        After a slow walk, a process uses its result for up to a second. `embedder` returns the
        function that embeds passages as they are read, for the store's `new_rows`, or None.
        Files of keys and passwords are read if they are named, or with `secrets`.
        """
        state: FolderState | None = store.memory.get(STATE)
        if not (state and time.monotonic() < state.until):
            state = store.memory[STATE] = _current_state(
                store, target, walk, state, embedder, secrets=secrets
            )
        if state.faults:
            others = len(state.faults) - 1
            more = f" (and {others:,} more)" if others else ""
            say(f"{state.faults[0]}{more}")
        state.folder.store = store  # the store of an earlier question is closed
        return state.folder

    def records(self, passages: Iterable[int]) -> dict[int, Record]:
        """Return the records of passages by their number."""
        passages_of: dict[int, list[int]] = {}  # of each file
        for passage in passages:
            file = bisect_right(self._first_passages, passage) - 1
            passages_of.setdefault(file, []).append(passage)
        found: dict[int, Record] = {}
        for file, numbers in passages_of.items():
            within = [number - self._first_passages[file] for number in numbers]
            records = self.store.records(self.files[file], within)
            found.update(zip(numbers, records, strict=True))
        return found


def _current_state(
    store: Store,
    target: Target,
    walk: Walk,
    before: FolderState | None,
    embedder: Callable[[], EmbedPassages | None],
    *,
    secrets: bool,
) -> FolderState:
    """Return the present state, and store the changes."""
    begun, cpu_begun, now = time.monotonic(), time.thread_time(), time.time_ns()
    if before:
        files, index, snapshot = before.files, before.folder.index, before.snapshot
    else:
        files, index = store.files(), Segments.read(store, WORD_SEGMENTS)
        snapshot = WalkSnapshot.unpack(store.part(SNAPSHOT))
        indexed = {*index.files}
        for path, file in files.items():
            # a process was killed after it had stored the file, and before the index
            if file.passages and _indexed_file(file) not in indexed:
                files[path] = file._replace(state=NOT_INDEXED)
    is_current = snapshot is not None and snapshot.is_current
    if snapshot and is_current:
        changes = FileChanges.since(snapshot, files)
    else:
        walk = replace(walk, places={})
        changes = FileChanges.of(target, walk, files)
        snapshot = WalkSnapshot.of(changes.sources, walk, now)
    cpu_seconds = time.thread_time() - cpu_begun
    if changes.pending or changes.removed or _indexed_files(files.values()) != [*index.files]:
        with store.changing():
            store.memory.clear()
            embed = embedder() if changes.pending else None
            shared_caches = SharedCaches(store.place)
            limit = walk.options.max_file_bytes
            read = _read_files(changes, limit, embed, shared_caches, secrets=secrets)
            old = index
            files, index = _update(store, changes, old, read, first=not files)
            index.write(store, old)
    if changes.faults:  # the next question tries these files again
        snapshot = None
    if snapshot and not is_current:
        store.put_parts({SNAPSHOT: snapshot.pack()})
    folder = before.folder if before and index is before.folder.index else Folder(store, index)
    until = begun  # a quick walk is not reused, a slow one for a time in proportion to its own
    if cpu_seconds >= MAX_QUICK_SECONDS:
        until += min(MAX_STATE_SECONDS, cpu_seconds / MAX_WALK_SHARE)
    return FolderState(files, folder, snapshot, changes.faults, until)


def _indexed_files(files: Iterable[File]) -> list[IndexedFile]:
    """Return the files with passages, sorted by path."""
    return sorted(_indexed_file(file) for file in files if file.passages)


def _indexed_file(file: File) -> IndexedFile:
    return IndexedFile(file.path, file.hash, file.passages)


def _update(
    store: Store,
    changes: FileChanges,
    index: Segments[Postings],
    read: Iterable[ReadResult],
    *,
    first: bool,
) -> tuple[dict[str, File], Segments[Postings]]:
    """Return all files, changed ones read again, and the index with these.

    The `first` time, say how much was read.
    """
    begun = committed = time.monotonic()
    sizes = {source.path: counted_bytes(source) for source, _ in changes.pending}
    total, done_files, done_bytes = sum(sizes.values()), 0, 0
    files, added = dict(changes.unchanged), list[Segment[Postings]]()
    with progress("read", lambda: Position(done_files, done_bytes, total, noun="files")):
        for batch in read:
            for file, records in batch.files:
                store.put(file, records)
                files[file.path] = file
                done_bytes += sizes.get(file.path, 0)
            done_files += len(batch.files)
            indexed = [_indexed_file(file) for file, _ in batch.files if file.passages]
            added.append(Segment(indexed, batch.words))
            if batch.rows:
                store.new_rows.append(Segment(indexed, batch.rows))
            changes.faults += batch.faults
            if time.monotonic() > committed + COMMIT_SECONDS:
                store.commit()
                committed = time.monotonic()
    store.keep_only(files.values())
    if first:
        _say_what_was_read([*files.values()], time.monotonic() - begun)
    return files, index.update(_indexed_files(files.values()), *added)


def _say_what_was_read(files: Sequence[File], seconds: float) -> None:
    from structkit.collecting.units import report_missing_grammars

    passages = format_count(sum(file.passages for file in files), "passage")
    problems = Counter(file.problem for file in files if file.problem)
    reasons = "; ".join(f"{count} x {problem}" for problem, count in problems.most_common())
    skipped = f"; skipped {problems.total():,} ({reasons})" if problems else ""
    say(f"read {format_count(len(files), 'file')}, {passages}, in {seconds:.1f} s{skipped}")
    report_missing_grammars({os.path.splitext(file.path)[1] for file in files})


@dataclass
class ReadResult:
    """Result of reading files."""

    files: list[tuple[File, bytes]] = field(default_factory=list)  # each with its records' lines
    words: Postings = WORD_SEGMENTS.empty  # of all passages
    rows: Int8Rows | None = None  # embeddings of all passages
    faults: list[UserError] = field(default_factory=list)


def _read_files(
    changes: FileChanges,
    max_file_bytes: int,
    embed: EmbedPassages | None,
    shared_caches: SharedCaches,
    *,
    secrets: bool = False,
) -> Iterator[ReadResult]:
    """Yield every pending file that could be read, some at a time."""
    # imports grammars and parsers, which an answer from the cache does not need
    from structkit.collecting.units import Collector, Units
    from structkit.records.workers import Pool  # … nor processes

    units = Units("passage", max_file_bytes=max_file_bytes, xpaths=False, symbols=True)
    work = partial(
        _read_batch,
        collect=Collector(units),
        max_file_bytes=max_file_bytes,
        embed=embed,
        shared_caches=shared_caches,
        secrets=secrets,
    )
    tasks = _reading_tasks(changes.pending)
    workers = 1
    if sum(source.size for source, _ in changes.pending) > MIN_PARALLEL_BYTES:
        workers = min(MAX_PROCESSES, cores())
    yield from map(work, tasks) if workers == 1 else Pool(workers, work).results(iter(tasks))


def counted_bytes(source: Source) -> int:
    """Return how many bytes of a file count as work: large ones are often binary or generated."""
    return min(source.size, TASK_BYTES)


def _reading_tasks(pending: Iterable[PendingFile]) -> list[list[PendingFile]]:
    """Return files that are read together, in random order, but a large file rather early.

    So no process ends late, and the progress is even.
    """
    limits = (lambda _: 1, TASK_FILES), (lambda each: each[0].size, TASK_BYTES)
    tasks = [*group_by_size(pending, *limits)]
    random_for(0, "tasks").shuffle(tasks)
    positions = list[float]()  # a task of n times the usual size comes n times as early
    for position, task in enumerate(tasks):
        size = sum(source.size for source, _ in task)
        positions.append(position / (1 + size // (2 * TASK_BYTES)))
    return [tasks[number] for number in np.argsort(positions, kind="stable")]


def _read_batch(
    batch: Sequence[PendingFile],
    collect: Callable[[list[Found]], Collected],
    max_file_bytes: int,
    embed: EmbedPassages | None,
    shared_caches: SharedCaches,
    *,
    secrets: bool,
) -> ReadResult:
    """Read some files, each given with its state; without `secrets`, no keys and passwords."""
    result, sources, files = ReadResult(), list[Found](), dict[str, File]()
    passages = dict[str, list[bytes]]()  # lines of records by path
    for source, state in batch:
        is_named = bool(source.file) and not source.root  # by the user
        skips_keys = not (secrets or is_named)
        is_key = skips_keys and is_key_file(source.path)
        try:
            data = b"" if is_key else source.content(max_file_bytes)
        except (OSError, UserError) as error:  # the next question tries it again
            fault = error if isinstance(error, UserError) else cannot_read(error)
            result.faults.append(fault.at(source.path))
            continue
        if is_key or (skips_keys and PRIVATE_KEY.match(data)):
            result.files.append((File(source.path, state, "", problem=KEY_PROBLEM), b""))
            continue
        digest = reading_hash(source, data)
        files[source.path] = File(source.path, state, digest)
        if lines := shared_caches.lines(digest):
            passages[source.path] = lines.splitlines(keepends=True)
        else:
            sources.append(replace(source, data=data, file="", status=None))
    collected = collect(sources)
    for skipped in collected.left_out:
        if skipped.fault:
            result.faults.append(skipped.error)
        result.files.append((files[skipped.path]._replace(problem=skipped.problem), b""))
    passages |= _lines_by_path(collected.output)
    records = list[Record]()
    for path, own in passages.items():
        records += records_at(path, own)
        result.files.append((files[path]._replace(passages=len(own)), b"".join(own)))
    texts = [passage_text(record) for record in records]
    bags = Bags.of(texts)
    if embed and texts:
        result.rows = embed(texts, bags)
    # words also match the path, which the text of prose lacks
    with_paths = [document_text(record, paths=True) for record in records]
    path_prefixes = map(str.removesuffix, with_paths, map(document_text, records))
    bags.add(path_prefixes, to_same_texts=True)
    result.words = Postings.of_bags(bags)
    return result


def reading_hash(source: Source, data: bytes) -> str:
    """Return the hash of a file's bytes, and of what else decides how they are read."""
    name = posixpath.basename(source.path) if source.file else source.path
    read_as = ascii((name, source.media, source.language, source.book))
    return hashlib.blake2b(data + read_as.encode(), digest_size=16).hexdigest()


def _lines_by_path(output: bytes) -> dict[str, list[bytes]]:
    """Return the lines of records by their path, without headings that have nothing below."""
    lines = output.splitlines(keepends=True)
    pairs = [(orjson.loads(line), line) for line in lines]
    passages = dict[str, list[bytes]]()
    for path, of_file in groupby(pairs, lambda pair: pair[0]["path"]):
        file_pairs = [*of_file]
        # the parts below a heading repeat it; alone it answers nothing
        kept = [line for record, line in file_pairs if not is_heading(record)]
        passages[path] = kept or [line for _, line in file_pairs]
    return passages


def is_heading(record: Record) -> bool:
    r"""Return whether a passage is a heading without text.

    >>> is_heading({"headings": ["Tea", "Green"], "text": "## Green"})
    True
    >>> is_heading({"headings": ["Tea"], "text": "# Tea\n\nHot."})
    False
    """
    *_, heading = record.get("headings") or [record.get("title") or ""]
    return "text" in record and not any(map(str.isalnum, record["text"].replace(heading, "", 1)))


def passage_text(record: Record) -> str:
    """Return the text of a passage without the licence in the first comment of its file."""
    text = document_text(record)
    if "lines" in record and record["lines"][0] > MAX_LICENCE_ROW:
        return text
    own = record.get("code") or record.get("text", "")
    header = HEADER_COMMENT.match(own)
    is_markdown = "text" in record and own.startswith("#")
    if header is None or is_markdown or not LICENCE_WORD.search(header[0]):
        return text
    return text.replace(header[0], "", 1)
