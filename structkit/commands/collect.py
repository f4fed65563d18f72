"""Files, folders and archives to records."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import orjson

from structkit.collecting.batches import SECONDS, Collected, Reading, batches, collected
from structkit.collecting.record_sources import FileRecords
from structkit.collecting.sources import LeftOut, Source
from structkit.collecting.units import Units
from structkit.collecting.walking import Walk
from structkit.errors import UserError
from structkit.paths import keep_apart, lines_name
from structkit.progress import Position, progress, say
from structkit.records.jsonl import Record, Shard
from structkit.records.output import Output
from structkit.records.rejects import Rejected, Rejects
from structkit.records.workers.pool import Pool
from structkit.seeds import key


class Origin(Protocol):
    """Where files come from: a `Walk` over paths, or `FileRecords`."""

    def sources(self, paths: Sequence[str]) -> Iterable[Source | LeftOut]: ...


@dataclass(frozen=True)
class Collection:
    """What is collected: the flags of the command, checked before any work is done."""

    paths: Sequence[str]
    origin: Origin
    reading: Reading
    shard: Shard | None = None
    workers: int = 1

    @classmethod
    def of(
        cls,
        paths: Sequence[str],
        *,
        records: bool = False,
        unit: str | None = None,
        chunk_chars: int = 1_500,
        max_file_bytes: int = 2_000_000,
        hidden: bool = False,
        no_ignore: bool = False,
        archives: bool = False,
        generated: bool = False,
        shard: str | None = None,
        workers: int = 1,
        record_timeout: float = SECONDS,
        outputs: Sequence[str] = (),
    ) -> Collection:
        """What the flags of the command mean; `outputs` are files that it writes."""
        if records and (hidden or no_ignore or archives):
            raise UserError(
                "--records walks no folders",
                "leave out --hidden, --no-ignore and --archives",
                status=2,
            )
        walk = Walk(
            hidden=hidden,
            ignore_files=not no_ignore,
            max_file_bytes=max_file_bytes,
            archives=archives,
            outputs=frozenset(map(os.path.realpath, outputs)),
        )
        reading = Reading(
            units=Units(unit=unit, chunk_chars=chunk_chars),
            max_file_bytes=max_file_bytes,
            generated=generated,
            seconds=record_timeout,
        )
        return cls(
            paths=paths,
            origin=FileRecords(max_file_bytes) if records else walk,
            reading=reading,
            shard=None if shard is None else Shard.parse(shard),
            workers=workers,
        )


def collect(collection: Collection) -> Iterator[Record]:
    """The records of files, in their order; what is left out is not reported.

    A file that cannot be read raises.
    """
    for done in parts(collection):
        for left in done.left_out:
            if left.fault:
                raise left.error
        yield from map(orjson.loads, done.output.splitlines())


def parts(collection: Collection) -> Generator[Collected]:
    """The records of some files at a time, as lines, with what is left out of these."""
    files = collection.origin.sources(collection.paths)
    if shard := collection.shard:  # by path, so that an added file does not move others
        files = (each for each in files if key(0, each.path) % shard.count == shard.index)
    work = partial(collected, reading=collection.reading)
    if collection.workers == 1:
        yield from map(work, batches(files))
    else:
        yield from Pool(collection.workers, work).results(batches(files))


def write(collection: Collection, output: str, on_error: str, rejects: str | None) -> None:
    """Collect into a file; a count of what is left out goes to stderr."""
    _check(collection, output, rejects)
    count = files = 0
    results = parts(collection)
    with (
        LeftOuts(on_error, rejects) as left_outs,
        Output(output) as out,
        closing(results),
        progress("collect", lambda: Position(count, note=f"{files:,} files")),
    ):
        for done in results:
            for left in done.left_out:
                left_outs.leave(left)
            out.write(done.output)
            count += done.records
            files += done.files
    if not count and not collection.shard:
        say("no records; the output is empty")


def _check(collection: Collection, output: str, rejects: str | None) -> None:
    read = [path for path in collection.paths if not os.path.isdir(path)]
    keep_apart([("--rejects", rejects), ("-o", output)], read)
    lines_name(output)


class LeftOuts(Rejects):
    """Files that are left out: counted by reason; one that is an error may end the command."""

    noun, told, most = "path", "left out", 8

    def leave(self, left: LeftOut) -> None:
        """Count one, or stop."""
        rejected = Rejected(left.error, orjson.dumps({"path": left.path}))
        if left.fault:
            self.add(rejected)
        else:
            self.keep(rejected)
