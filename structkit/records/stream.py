"""Run a record-wise command: files in, file out, with shards, workers and rejected records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

from structkit.errors import UserError
from structkit.paths import keep_apart, lines_name
from structkit.progress import Position, progress, say
from structkit.records.jsonl import Block, Lines, Record, Records, Shard, shown
from structkit.records.output import Output
from structkit.records.rejects import Command, Rejects, accepted
from structkit.records.workers import BLOCK, Done, Tally, Workers, counting


@dataclass(frozen=True)
class Stream:
    """Where a record-wise command reads and writes, and how it treats errors."""

    files: Sequence[str] = ()
    output: str = "-"
    on_error: str = "fail"
    rejects: str | None = None
    shard: Shard | None = None
    workers: int = 1
    beside: Sequence[str | None] = ()  # other inputs
    others: tuple[str, ...] = ()  # endings of files that are not JSON lines
    in_place: bool = True  # -o may be an input: it is replaced when all is written
    numbered: bool = True  # a record without an id gets its number

    def __post_init__(self) -> None:
        files = self.files or ["-"]
        kept = self.in_place and not self.shard  # a shard is a part, and the rest would be lost
        reads, replaced = ([], files) if kept else (files, [])
        writes = [("--rejects", self.rejects), ("-o", self.output)]
        keep_apart(writes, [*reads, *self.beside], replaced=replaced)
        lines_name(self.output, *self.others)
        if [*files, *self.beside].count("-") > 1:
            raise UserError("stdin is named twice", "it is read once: give a file", status=2)

    def run(
        self,
        command: Callable[..., Iterator[Record]],
        then: Command | None = None,
        *,
        tally: Tally | None = None,
        label: str = "",
    ) -> None:
        """Send every record through the command, and all it yields through `then`, to the output.

        `then` may remember records: it runs in this process, the command in workers. A `tally` is
        given to the command to count in; what several workers counted is merged into it.
        """
        assert self.numbered or self.workers == 1
        lines = Lines(self.files)
        with Rejects(self.on_error, self.rejects) as rejects, Output(self.output) as output:
            if self.workers == 1:
                records = Records(lines, self.shard, numbered=self.numbered)
                found = accepted(counting(command, tally), records, rejects.add)
                with progress(label, lambda: _position(lines, records.count)):
                    output.write_records(then(found) if then else found)
                empty = records.count == 0
            else:
                pool = Workers(self.workers, command, self.shard, rejects.skip, tally)
                results = pool.results(lines.blocks(BLOCK))
                with progress(label, lambda: _position(lines, pool.count)), closing(results):
                    try:
                        _write(_outputs(results, tally, rejects), then, output)
                    except (KeyboardInterrupt, SystemExit):
                        pool.abandon()
                        raise
                empty = pool.count == 0
        if empty and not self.shard:
            names = ", ".join(map(shown, lines.files[:3])) + ", …" * (len(lines.files) > 3)
            say(f"no records in {names}; the output is empty")


def _position(lines: Lines, count: int) -> Position:
    return Position(count, lines.bytes, lines.total)


def _outputs(results: Iterable[Done], tally: Tally | None, rejects: Rejects) -> Iterator[bytes]:
    for done in results:
        yield done.output  # first: what stands before a bad record is written
        if tally is not None:
            tally.merge(done.tally)
        for rejected in done.rejected:
            rejects.add(rejected)


def _write(outputs: Iterable[bytes], then: Command | None, output: Output) -> None:
    if then:
        made = (Records(Block("", 0, 0, data)) for data in outputs)
        output.write_records(then(chain.from_iterable(made)))
        return
    for data in outputs:
        output.write(data)
