"""Run a record-wise command: files in, file out, with shards, workers and rejected records."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Protocol

import orjson

from structkit.errors import UserError
from structkit.jsonl import Block, Lines, Record, Records, Shard, shown
from structkit.output import Output, dump
from structkit.progress import Position, progress, say

Command = Callable[[Iterable[Record]], Iterator[Record]]


class Tally(Protocol):
    """What a command counts beside its records; one that is made anew counts nothing yet."""

    def merge(self, other: Any) -> None:
        """Add what another one of the same kind counted."""
        ...


@dataclass(frozen=True)
class Rejected:
    """One record that was left out, and why."""

    error: UserError
    raw: bytes

    def record(self) -> Record:
        error = self.error
        try:
            content = orjson.loads(self.raw)
        except orjson.JSONDecodeError:
            content = self.raw.decode("utf-8", "replace").rstrip("\n")
        return {
            "file": error.file,
            "line": error.line,
            "reason": error.reason,
            "record": content,
        }


class Rejects:
    """Where rejected records go: an error, a file, or a count on stderr."""

    def __init__(self, on_error: str = "fail", path: str | None = None) -> None:
        self.skip = on_error == "skip"
        if path and not self.skip:
            raise UserError("--rejects needs --on-error skip", "add it", status=2)
        self.path = path
        self.reasons: Counter[str] = Counter()

    def __enter__(self) -> Rejects:
        self._output = Output(self.path) if self.path else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._output:
            self._output.__exit__(kind, error, trace)
        total = self.reasons.total()
        if total and kind is None:
            common = [f"{count:,} x {text}" for text, count in self.reasons.most_common(3)]
            more = "; …" if len(self.reasons) > 3 else ""
            records = "record" if total == 1 else "records"
            say(f"{total:,} {records} rejected ({'; '.join(common)}{more})")

    def add(self, rejected: Rejected) -> None:
        """Keep the rejected record, or stop."""
        if not self.skip:
            raise rejected.error
        self.reasons[rejected.error.problem] += 1
        if self._output:
            self._output.write_records([rejected.record()])


def accepted(
    command: Command, records: Records, reject: Callable[[Rejected], None]
) -> Iterator[Record]:
    """What the command yields; where it raises, the record is rejected and the next taken."""
    while True:
        try:
            yield from command(records)
            return
        except UserError as error:
            if error.status == 2 or (error.file and not error.line):
                raise  # wrong usage, or a file that cannot be read: no record is to blame
            reject(Rejected(records.place(error), records.raw))


@dataclass(frozen=True)
class Stream:
    """Where a record-wise command reads and writes, and how it treats errors."""

    files: Sequence[str] = ()
    output: str = "-"
    on_error: str = "fail"
    rejects: str | None = None
    shard: Shard | None = None
    workers: int = 1
    quiet: bool = False

    def run(
        self,
        command: Callable[..., Iterator[Record]],
        then: Command | None = None,
        *,
        tally: Tally | None = None,
        label: str = "",
    ) -> None:
        """Send every record through the command, and all it yields through `then`, to the output.

        `then` may remember records, which several workers cannot: it needs `workers=1`. A `tally`
        is given to the command to count in; what several workers counted is merged into it.
        """
        assert then is None or self.workers == 1
        if self.rejects and os.path.realpath(self.rejects) == os.path.realpath(self.output):
            raise UserError("--rejects and -o name the same file", "name two", status=2)
        lines = Lines(self.files)
        with Rejects(self.on_error, self.rejects) as rejects, Output(self.output) as output:
            if self.workers == 1:
                records = Records(lines, self.shard)
                found = accepted(_counting(command, tally), records, rejects.add)
                with progress(label, lambda: _position(lines, records.count), quiet=self.quiet):
                    output.write_records(then(found) if then else found)
                empty = records.count == 0
            else:
                pool = Workers(self.workers, command, self.shard, rejects.skip, tally)
                with progress(label, lambda: _position(lines, pool.count), quiet=self.quiet):
                    for done in pool.results(lines.blocks()):
                        output.write(done.output)
                        if tally is not None:
                            tally.merge(done.tally)
                        for rejected in done.rejected:
                            rejects.add(rejected)
                empty = pool.count == 0
        if empty and not self.shard:
            names = ", ".join(map(shown, lines.files[:3])) + ", …" * (len(lines.files) > 3)
            say(f"no records in {names}; the output is empty")


def _counting(command: Callable[..., Iterator[Record]], tally: Tally | None) -> Command:
    return command if tally is None else partial(command, tally=tally)


def _position(lines: Lines, count: int) -> Position:
    return Position(count, lines.bytes, lines.total)


@dataclass
class Done:
    """What a worker made of a block."""

    output: bytes = b""
    count: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    tally: Any = None


class Workers:
    """Processes that run a command over blocks of lines; results come in input order."""

    def __init__(
        self,
        workers: int,
        command: Callable[..., Iterator[Record]],
        shard: Shard | None,
        skip: bool,
        tally: Tally | None = None,
    ) -> None:
        self.workers = workers
        self.task = (command, shard, skip, None if tally is None else type(tally))
        self.count = 0

    def results(self, blocks: Iterator[Block]) -> Iterator[Done]:
        """What the workers made of each block, in order; few blocks are under way at a time."""
        method = "fork" if hasattr(os, "fork") else "spawn"
        waiting: deque[Future[Done]] = deque()
        pool = ProcessPoolExecutor(
            self.workers, get_context(method), initializer=_start_worker, initargs=(os.getpid(),)
        )
        try:
            for future in self._futures(pool, blocks):
                waiting.append(future)
                if len(waiting) > 2 * self.workers:
                    yield self._finish(waiting.popleft())
            while waiting:
                yield self._finish(waiting.popleft())
        except BrokenProcessPool:
            raise UserError(
                "a worker process died", "was it killed for memory? try fewer --workers"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _futures(
        self, pool: ProcessPoolExecutor, blocks: Iterator[Block]
    ) -> Iterator[Future[Done]]:
        try:
            for block in blocks:
                yield pool.submit(_work, block, *self.task)
        except UserError as error:  # comes out in its turn, behind what was read before it
            failed: Future[Done] = Future()
            failed.set_exception(error)
            yield failed

    def _finish(self, future: Future[Done]) -> Done:
        done = future.result()
        self.count += done.count
        return done


def _start_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)  # the parent was killed: nobody waits for the result

    threading.Thread(target=watch, daemon=True).start()


def _work(
    block: Block,
    command: Callable[..., Iterator[Record]],
    shard: Shard | None,
    skip: bool,
    counts: type[Any] | None,
) -> Done:
    done = Done(tally=counts() if counts else None)
    records = Records(block, shard)

    def reject(rejected: Rejected) -> None:
        done.rejected.append(rejected)
        if not skip:
            raise _Stop

    parts: list[bytes] = []
    try:
        for record in accepted(_counting(command, done.tally), records, reject):
            parts.append(dump(record))
    except _Stop:
        pass
    done.output, done.count = b"".join(parts), records.count
    return done


class _Stop(Exception):
    """A worker met its first error and `--on-error fail` is set."""
