"""Files that may have changed, read again: those with new content become new passages."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

import orjson

from structkit.asking.cache import File, is_sure
from structkit.collecting.batches import BATCH_BYTES, Collected, Reading, batches, collect_batch
from structkit.collecting.kinds import CODE, HTML, MARKDOWN, TEXT
from structkit.collecting.sources import LeftOut, Source, too_large
from structkit.collecting.units import Units
from structkit.errors import UserError
from structkit.processes import cores
from structkit.records.lines import cannot_read
from structkit.records.workers import Pool

# units short enough to be an answer, by kind of file
PASSAGES = {CODE: "chunk", HTML: "section", MARKDOWN: "section", TEXT: "chunk"}
LARGE = 4 * BATCH_BYTES  # bytes from which several processes are worth starting
PROCESSES = 8

# a file, and the lines of its passages if they are new
ReadFile = tuple[File, bytes | None]
Pending = Sequence[tuple[Source, str]]  # files with their states


@dataclass
class PassageReader:
    """Turns files into passages, and counts what came of them."""

    max_file_bytes: int
    chunk_chars: int
    done: int = 0
    faults: list[UserError] = field(default_factory=list)

    def read(self, pending: Pending, known: Mapping[str, File]) -> Iterator[ReadFile]:
        """Every pending file that could be read."""
        units = Units(chunk_chars=self.chunk_chars, xpaths=False, defaults=PASSAGES)
        work = partial(collect_batch, reading=Reading(units, self.max_file_bytes))
        noted: dict[str, File] = {}
        tasks = batches(self._changed(pending, known, noted))
        size = sum(source.size for source, _ in pending)
        workers = min(PROCESSES, cores()) if size > LARGE else 1
        results = map(work, tasks) if workers == 1 else Pool(workers, work).results(tasks)
        for done in results:
            yield from self._files(done, noted)
        yield from ((file, None) for file in noted.values())  # those with unchanged content

    def _changed(
        self, pending: Pending, known: Mapping[str, File], noted: dict[str, File]
    ) -> Iterator[Source | LeftOut]:
        """The files with new content, which they carry; all are noted with their hashes."""
        for source, state in pending:
            now = time.time_ns()
            try:
                data = self._bytes(source)
            except OSError as error:  # it stays unknown, so that it is tried again next time
                self.faults.append(cannot_read(error).at(source.path))
                continue
            digest = hashlib.blake2b(data, digest_size=16).hexdigest()
            before = known.get(source.path)
            fresh = File(source.path, state, is_sure(state, now), digest)
            if before and before.hash == digest:
                noted[source.path] = before._replace(state=fresh.state, sure=fresh.sure)
                continue
            noted[source.path] = fresh
            if len(data) > self.max_file_bytes:
                yield LeftOut.because(source.path, too_large(self.max_file_bytes))
            else:
                yield Source(source.path, data=data, size=len(data), media=source.media)

    def _bytes(self, source: Source) -> bytes:
        """The content of a file, or the beginning of one that is too large."""
        if source.data is not None:
            return source.data
        with open(source.file, "rb") as handle:
            return handle.read(self.max_file_bytes + 1)

    def _files(self, done: Collected, noted: dict[str, File]) -> Iterator[ReadFile]:
        self.done += done.files
        lines = done.output.splitlines(keepends=True)
        for path, group in groupby(lines, key=lambda line: str(orjson.loads(line)["path"])):
            records = list(group)
            yield noted.pop(path)._replace(passages=len(records)), b"".join(records)
        for left in done.left_out:
            if left.fault:
                self.faults.append(left.error)
            yield noted.pop(left.path)._replace(problem=left.problem), b""
