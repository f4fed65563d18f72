"""A folder that is ready for questions: its passages as they are on disk now, and their words.

Tests: tests/asking/test_cache.py, tests/asking/test_warm_folder.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from html import unescape
from itertools import accumulate, groupby
from posixpath import dirname, join, normpath, splitext
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import orjson

from structkit.asking.cache import (
    SEGMENTS,
    Damaged,
    File,
    IndexedFile,
    Segment,
    Store,
    Target,
    changed,
    data_of,
    data_of_gone,
    indexed_files,
    of_files,
    passages_of,
    places,
    present,
    state_at,
    state_of,
)
from structkit.collecting import MARKDOWNS
from structkit.collecting.walking import Found, Source, Walk
from structkit.embeddings.vectors import Floats, Int8Rows, IntArray
from structkit.errors import UserError
from structkit.processes import cores
from structkit.progress import Position, format_count, progress, say
from structkit.records.fields import document_text
from structkit.records.jsonl import Record, cannot_read
from structkit.searching.bm25 import ARRAYS, Postings, WordIndex
from structkit.searching.hits import Hit
from structkit.structure.bags import Bags

if TYPE_CHECKING:
    from structkit.collecting.units import Collected

LARGE = 4 << 20  # bytes from which several processes are worth starting
PROCESSES = 8
ESTIMATED, LONG = 2.0, 10.0  # seconds after which a first read says how long it takes, if so long
HTML = (".html", ".htm", ".xhtml", ".xht")
PAGES = (*HTML, ".rst", ".txt", *(f".{each}" for each in MARKDOWNS))

# in a process: looking through files that takes less CPU time is done for each question; more is
# done in this share of the time, and no answer is older than a second
QUICK, SHARE, OLDEST = 0.005, 0.05, 0.9
TICK = 2 * 10**9  # nanoseconds within which a file system may give two changes the same time
ANSWERS = 64  # questions whose answers a process keeps
LINKS = "links "  # what the parts with the links between pages begin with
# a link into the folder, its words, and the next ones until another link or item begins
ITEM = r"<(?:a|li|dt|tr|h[1-6]|/[duo]l|/table|/p|/div)\b"
LINK = re.compile(
    rf"""<a\b[^<>]*?\shref\s*=\s*["']?([^"'\s<>#?:]++)(?!:)[^<>]*>((?:[^<]+|(?!{ITEM})<)*+)""", re.I
)
# … in Markdown and reStructuredText, with the labels to which the latter's `:ref:` leads
AFTER = r"(?:[^\n[:]++|\[(?![^][\n]*\]\()|:(?!(?:doc|ref):`)|\n(?!\s*(?:[-*+|#>]|\d+[.)]|\n)))*+"
MARKED = re.compile(
    r"(?:\[((?:[^][]++|\[[^][]*\])*+)\]\(\s*<?([^)\s<>#?:]++)(?!:)[^()\n]*\)"
    rf"|:(doc|ref):`(?:([^`<]*)<)?([^`<>]+)>?`)({AFTER})"
)
LABEL = re.compile(r"\.\. _([^:\n]{1,99}):[ \t]*\n")
TAG, LONGEST = re.compile("<[^>]*>"), 300  # characters
FAST = 1  # zlib's level that takes the least time
LOOK = "look"  # the part of a store with what the last walk found
SEEN = "seen"  # in a store's memory
Embed = Callable[[Sequence[str], Bags], Int8Rows]  # from texts and their bags to their rows


@dataclass(frozen=True)
class Look:
    """Files that a walk found; they are the same until one of the `places` changes.

    `places` are the states of folders, ignore files and an archive.
    """

    sources: list[Source]
    places: dict[str, str]

    @classmethod
    def of(cls, sources: list[Source], walk: Walk, now: int) -> Look | None:
        """Return the result of a walk that began at `now`; None if a change may go unnoticed."""
        found = walk.places or {}
        if any(status and status.st_ctime_ns >= now - TICK for status in found.values()):
            return None
        # files in an archive change with it alone, so that their content is not kept
        files = [each if each.file else replace(each, data=None) for each in sources]
        return cls(files, {at: state_of(status, at) for at, status in found.items()})

    @classmethod
    def read(cls, data: bytes | None) -> Look | None:
        """Restore a look from the bytes that `data` returned."""
        if not data:
            return None
        sources, places = json.loads(zlib.decompress(data))
        return cls([Source(path, file, root=root) for path, file, root in sources], places)

    def data(self) -> bytes:
        """Return the look as bytes; empty for a pipe, whose content can be read only once."""
        if any(source.data is not None for source in self.sources):
            return b""
        sources = [(each.path, each.file, each.root) for each in self.sources]
        # names may not be valid Unicode, which orjson refuses
        return zlib.compress(json.dumps([sources, self.places]).encode(), FAST)

    @property
    def holds(self) -> bool:
        """Whether no place has changed."""
        return all(state == state_at(at) for at, state in self.places.items())


@dataclass
class FileChanges:
    """Unchanged files, files that may have changed with their states, and removed ones.

    `sources` are all of them.
    """

    same: dict[str, File] = field(default_factory=dict)
    pending: list[tuple[Source, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    faults: list[UserError] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    @classmethod
    def of(cls, target: Target, walk: Walk, known: Mapping[str, File]) -> FileChanges:
        """Compare the files of a target with the known ones."""
        changes = cls(gone={*known})
        for each in walk.sources(target.real):
            if isinstance(each, Source):
                changes.compare(replace(each, path=target.within(each.path)), known)
            elif each.fault:
                changes.faults.append(each.error)
        return changes

    @classmethod
    def again(cls, look: Look, known: Mapping[str, File]) -> FileChanges:
        """Compare the files of a look that holds with the known ones."""
        changes = cls(gone={*known} - {source.path for source in look.sources})
        for source in look.sources:
            file = known.get(source.path)
            if file and file.state == (state_at(source.file) if source.file else ""):
                changes.same[source.path] = file
            else:
                with suppress(OSError):  # a file that is gone changed its folder, too
                    status = os.lstat(source.file)
                    changes.compare(replace(source, status=status), known)
        changes.sources = look.sources
        return changes

    def compare(self, source: Source, known: Mapping[str, File]) -> None:
        """Add a file after comparing it with its known state."""
        state, file = state_of(source.status), known.get(source.path)
        self.sources.append(source)
        self.gone.discard(source.path)
        if file and state and file.state == state:
            self.same[source.path] = file
        else:
            self.pending.append((source, state))


@dataclass(frozen=True)
class PassageIndex:
    """The words of the passages of files, sorted by path, in two segments."""

    files: Sequence[IndexedFile]
    segments: Sequence[Segment[Postings]]

    @classmethod
    def empty(cls) -> PassageIndex:
        """Return the index of no files."""
        return cls([], 2 * [Segment([], Postings.of_bags(Bags()))])

    @classmethod
    def read(cls, store: Store) -> PassageIndex | None:
        """Read the index in a store, if it has one."""
        segments, gone = list[Segment[Postings]](), store.part("gone")
        for name in SEGMENTS:
            parts = store.parts(("files", "words", *ARRAYS), name)
            if parts is None or gone is None:
                return None
            segments.append(Segment(indexed_files(parts["files"]), Postings.read(parts)))
        return cls(present(segments, gone or b""), segments)

    def keep(self, store: Store, before: PassageIndex) -> None:
        """Store the changed segments; the index before is in the store, unless it is empty."""
        store.put_parts({"gone": data_of_gone(self.segments, self.files)})
        for name, each, other in zip(SEGMENTS, self.segments, before.segments, strict=True):
            if each is not other or not before.files:
                store.put_parts({"files": data_of(each.files), **each.data.data()}, name)

    def update(self, files: Sequence[IndexedFile], added: Segment[Postings]) -> PassageIndex:
        """Return the index of these files; `added` has the words of the new ones."""
        return PassageIndex(files, changed(self.segments, added, files, Postings.joined))

    @property
    def words(self) -> WordIndex:
        """The words of the passages."""
        return WordIndex(places(self.files, self.segments))


@dataclass(frozen=True)
class Seen:
    """State of a target: its files, those with passages, and faults."""

    files: dict[str, File]
    index: PassageIndex
    folder: Folder
    look: Look | None
    faults: Sequence[UserError]
    until: float  # when it is looked at again, by the clock


@dataclass
class Folder:
    """The files with passages, sorted by path, and their words; `store` has the records."""

    store: Store
    files: Sequence[IndexedFile]
    words: WordIndex

    def __post_init__(self) -> None:
        self._starts = [0, *accumulate(each.passages for each in self.files)]
        self._answered: dict[Hashable, bytes] = {}

    def again(
        self, asked: Hashable, answer: Callable[[], list[tuple[Hit, Record]]]
    ) -> list[tuple[Hit, Record]]:
        """Return the answers to what was asked, of these files, before; or answer and keep them."""
        if asked not in self._answered:
            found = answer()
            if not found:
                return found
            if len(self._answered) == ANSWERS:
                self._answered.clear()
            self._answered[asked] = orjson.dumps([(tuple(hit), record) for hit, record in found])
        return [(Hit(*hit), record) for hit, record in orjson.loads(self._answered[asked])]

    def __len__(self) -> int:
        return self._starts[-1]

    @cached_property
    def numbers(self) -> IntArray:
        """The number of each passage's file, (passages,)."""
        return np.repeat(np.arange(len(self.files)), [each.passages for each in self.files])

    @cached_property
    def _pages(self) -> Floats:
        return np.array([float(each.path.lower().endswith(PAGES)) for each in self.files])

    def is_of_pages(self, chosen: Floats) -> bool:
        """Return whether two thirds of the files with `chosen` passages are pages of prose."""
        files = np.bincount(self.numbers, chosen, len(self.files)) > 0
        return bool(3 * self._pages[files].sum() > 2 * files.sum())

    @cached_property
    def links(self) -> tuple[WordIndex, IntArray]:
        """The words of each link to another page, and the number of this page, (links,)."""
        store, of = self.store, hashlib.blake2b(data_of(self.files)).digest()
        kept = store.parts(("of", "words", *ARRAYS, "pages"), LINKS)
        if kept is None or kept["of"] != of:
            found = dict.fromkeys(self._links())  # each once, however many pages have it
            texts = (unescape(TAG.sub(" ", html)[:LONGEST]) for html, _ in found)
            pages = orjson.dumps([page for _, page in found])
            kept = {"of": of, **Postings.of_bags(Bags.of(texts)).data(), "pages": pages}
            with store.changing():
                store.put_parts(kept, LINKS)
        numbers = np.array(orjson.loads(kept["pages"]), np.int64)
        return WordIndex([(Postings.read(kept), np.arange(len(numbers)))]), numbers

    def _links(self) -> Iterator[tuple[str, int]]:
        """Yield the text of each link and of what it begins, and the number of its page."""
        paths = [each.path for each in self.files]
        pages = {key: n for n, path in enumerate(paths) for key in (_name(path), path)}
        target = cache(lambda folder, href: normpath(join(folder, unquote(href))).lstrip("/"))
        found = list[tuple[int, str, str]]()
        for number in np.flatnonzero(self._pages).tolist():
            field = "html" if paths[number].lower().endswith(HTML) else "text"
            mark = f'"{field}":'.encode()
            lines = self.store.lines(self.files[number])
            text = "\n\n".join(orjson.loads(line).get(field, "") for line in lines if mark in line)
            found += ((number, *link) for link in LINK.findall(text))
            if field == "text":
                pages |= {f":{label.lower()}": number for label in LABEL.findall(text)}
                for words, page, role, title, name, more in MARKED.findall(text):
                    href = f":{name.lower()}" if role == "ref" else page or name
                    found.append((number, href, f"{words}{title} {more}"))
        for number, href, words in found:
            path = href if href[0] == ":" else target(dirname(paths[number]), href)
            page = pages.get(path, pages.get(_name(path), number))
            if page != number:
                yield words, page

    def linked(self, asked: Sequence[str]) -> Floats:
        """Return the highest cosine of a link to a passage's page with words, (passages,)."""
        words, pages = self.links
        shared = (words.counts_of(asked) > 0).sum(1)
        scores = np.zeros(len(self.files))
        np.maximum.at(scores, pages, shared / np.sqrt(np.maximum(len(asked) * words.lengths, 1)))
        return scores[self.numbers]

    @classmethod
    def read(
        cls,
        store: Store,
        target: Target,
        walk: Walk,
        embedding: Callable[[], Embed | None] = lambda: None,
    ) -> Folder:
        """Return the folder as it is now; keep what changed since the last time in the store.

        A process that looked through many files may do so again only a while later. `embedding`
        gives what embeds passages as they are read, for the store's `fresh`, if something can.
        """
        seen: Seen | None = store.memory.get(SEEN)
        if not (seen and time.monotonic() < seen.until):
            seen = store.memory[SEEN] = _look(store, target, walk, seen, embedding)
        if seen.faults:
            more = f" (and {len(seen.faults) - 1:,} more)" if len(seen.faults) > 1 else ""
            say(f"{seen.faults[0]}{more}")
        seen.folder.store = store  # this question's
        return seen.folder

    def records(self, passages: Iterable[int]) -> dict[int, Record]:
        """Return the records of passages by their number."""
        wanted: dict[int, list[int]] = {}  # of each file
        for passage in passages:
            wanted.setdefault(bisect_right(self._starts, passage) - 1, []).append(passage)
        chosen: dict[int, Record] = {}
        for file, numbers in wanted.items():
            within = [number - self._starts[file] for number in numbers]
            records = self.store.records(self.files[file], within)
            chosen.update(zip(numbers, records, strict=True))
        return chosen


def _name(path: str) -> str:
    """Return a path as links may write it: in any case, without ending, without `index`."""
    return splitext(path.lower())[0].removesuffix("/index")


def _look(
    store: Store,
    target: Target,
    walk: Walk,
    before: Seen | None,
    embedding: Callable[[], Embed | None],
) -> Seen:
    """Return the present state, and store the changes."""
    start, took, now = time.monotonic(), time.thread_time(), time.time_ns()
    kept = None if before else PassageIndex.read(store)
    files = before.files if before else store.files()
    index = before.index if before else kept or PassageIndex.empty()
    if not before and sorted(_indexed(files.values())) != index.files:
        raise Damaged("the files are not those of the index")
    look = before.look if before else Look.read(store.part(LOOK)) if kept else None
    known = look is not None and look.holds
    if look and known:
        changes = FileChanges.again(look, files)
    else:
        walk = replace(walk, places={})
        changes = FileChanges.of(target, walk, files)
        look = Look.of(changes.sources, walk, now)
    cost = time.thread_time() - took
    if changes.pending or changes.gone:
        with store.changing():
            store.memory.clear()
            kept, embed = index, embedding() if changes.pending else None
            parts = _read_files(changes, walk.options.max_file_bytes, embed)
            files, index = _read(store, changes, kept, parts, first=not files)
            index.keep(store, kept)
    look = None if changes.faults else look  # also those of files that were read
    if look and not known:
        store.put_parts({LOOK: look.data()})
    until = start + (0.0 if cost < QUICK else min(OLDEST, cost / SHARE))
    if before and index is before.index:
        folder = before.folder
    else:
        folder = Folder(store, index.files, index.words)
    return Seen(files, index, folder, look, changes.faults, until)


def _indexed(files: Iterable[File]) -> list[IndexedFile]:
    return [IndexedFile(file.path, file.hash, file.passages) for file in files if file.passages]


def estimate(begun: tuple[float, int], now: tuple[float, int], size: int) -> str:
    """Return a message about the time of a first read; empty if it is short.

    The seconds and the bytes when the first files were read, and now: until then, processes start.

    >>> estimate((1.5, 500), (2.0, 1000), 20_000), estimate((1.5, 500), (2.0, 1000), 5000)
    ('reading 20,000 bytes the first time takes about 21 s', '')
    """
    (start, before), (taken, done) = begun, now
    seconds = taken + (taken - start) * (size - done) / (done - before)
    return f"reading {size:,} bytes the first time takes about {seconds:.0f} s" * (seconds > LONG)


def _read(
    store: Store,
    changes: FileChanges,
    index: PassageIndex,
    parts: Iterable[ReadFiles],
    *,
    first: bool,
) -> tuple[dict[str, File], PassageIndex]:
    """Return all files, changed ones read again, and the index with these.

    The `first` time, say how much was read.
    """
    start, done, told, begun = time.monotonic(), 0, not first, (0.0, 0)
    sizes = {source.path: source.size for source, _ in changes.pending}
    size, read_bytes = sum(sizes.values()), 0
    files, read = dict(changes.same), list[IndexedFile]()
    bags = Bags()
    store.drop(changes.gone)
    with progress("read", lambda: Position(done, done, len(changes.pending), noun="files")):
        for some in parts:
            for file, records in some.files:
                store.put(file, records)
                files[file.path] = file
                done += 1
                read_bytes += sizes.get(file.path, 0)
            now = time.monotonic() - start, read_bytes
            begun = begun if begun[1] else now
            if not told and now[0] > ESTIMATED and now[1] > begun[1]:
                told = True
                if about := estimate(begun, now, size):
                    say(about)
            having = _indexed(file for file, _ in some.files)
            bags.extend(some.pieces, passages_of(having), some.counts)
            store.fresh |= of_files(having, some.rows) if some.rows else {}
            read += having
            changes.faults += some.faults
    store.drop(path for source, _ in changes.pending if (path := source.path) not in files)
    if first:
        passages = sum(file.passages for file in files.values())
        seconds = time.monotonic() - start
        left = Counter(file.problem for file in files.values() if file.problem)
        why = "; ".join(f"{count} x {problem}" for problem, count in left.most_common())
        more = f"; skipped {left.total():,} ({why})" if left else ""
        texts = f"{format_count(len(files), 'file')}, {format_count(passages, 'passage')}"
        say(f"read {texts}, in {seconds:.1f} s{more}")
    added = Segment(read, Postings.of_bags(bags))
    return files, index.update(sorted(_indexed(files.values())), added)


@dataclass
class ReadFiles:
    """Result of reading files: the lines of each one's records, the pieces of all passages.

    `rows` are the embeddings of these.
    """

    files: list[tuple[File, bytes]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    counts: tuple[array[int], ...] = ()
    rows: Int8Rows | None = None
    faults: list[UserError] = field(default_factory=list)


def _read_files(changes: FileChanges, maximum: int, embed: Embed | None) -> Iterator[ReadFiles]:
    """Yield every pending file that could be read, some at a time."""
    # imports grammars and parsers, which an answer from the cache does not need
    from structkit.collecting.units import Collector, Units, batches
    from structkit.records.workers import Pool  # … nor processes

    units = Units("passage", max_file_bytes=maximum, xpaths=False, symbols=True)
    work = partial(_read_batch, collect=Collector(units), maximum=maximum, embed=embed)
    states = {source.path: state for source, state in changes.pending}
    tasks = (
        [(each, states[each.path]) for each in batch if isinstance(each, Source)]
        for batch in batches(source for source, _ in changes.pending)
    )
    size = sum(source.size for source, _ in changes.pending)
    workers = min(PROCESSES, cores()) if size > LARGE else 1
    yield from map(work, tasks) if workers == 1 else Pool(workers, work).results(tasks)


def _read_batch(
    batch: Sequence[tuple[Source, str]],
    collect: Callable[[list[Found]], Collected],
    maximum: int,
    embed: Embed | None,
) -> ReadFiles:
    """Read some files, each given with its state."""
    made, noted, sources = ReadFiles(), dict[str, File](), list[Found]()
    for source, state in batch:
        path = source.path
        try:
            data = source.content(maximum)
        except (OSError, UserError) as error:  # it stays unknown, and is tried again next time
            why = error if isinstance(error, UserError) else cannot_read(error)
            made.faults.append(why.at(path))
            continue
        noted[path] = File(path, state, hashlib.blake2b(data, digest_size=16).hexdigest())
        sources.append(Source(path, data=data, media=source.media))
    done = collect(sources)
    lines = done.output.splitlines(keepends=True)
    parsed = zip(map(orjson.loads, lines), lines, strict=True)
    records = list[Record]()
    for path, group in groupby(parsed, lambda each: each[0]["path"]):
        passages = list(group)
        records += [record for record, _ in passages]
        file = noted[path]._replace(passages=len(passages))
        made.files.append((file, b"".join(line for _, line in passages)))
    for left in done.left_out:
        if left.fault:
            made.faults.append(left.error)
        made.files.append((noted[left.path]._replace(problem=left.problem), b""))
    texts = [document_text(record) for record in records]
    bags = Bags.of(texts)
    made.rows = embed(texts, bags) if embed and texts else None
    placed = (document_text(record, paths=True) for record in records)
    bags.add(map(str.removesuffix, placed, texts), again=True)  # code has its place already
    made.pieces, made.counts = [*bags.number], bags.columns
    return made
