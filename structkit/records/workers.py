"""Run a command over blocks of lines in several processes, with the results in input order."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from structkit.errors import UserError
from structkit.records.jsonl import Block, Record, Records, Shard
from structkit.records.output import dump
from structkit.records.rejects import Rejected, Tally, accepted, counting
from structkit.signals import ENDINGS

T = TypeVar("T")
R = TypeVar("R")
BLOCK = 1 << 18  # bytes that a worker gets at a time


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@dataclass
class Done:
    """What a worker made of a block."""

    output: bytes = b""
    count: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    tally: Any = None


class Pool(Generic[T, R]):
    """Processes that do the same work on tasks; results come in the order of the tasks."""

    def __init__(self, workers: int, work: Callable[[T], R]) -> None:
        self.workers = workers
        self.work = work
        self.abandoned = False

    def results(self, tasks: Iterator[T]) -> Generator[R]:
        """What the workers made of each task, in order; few tasks are under way at a time."""
        waiting: deque[Future[R]] = deque()
        reader, self.writer = os.pipe()  # workers live as long as the parent holds the second end
        pool = ProcessPoolExecutor(
            self.workers,
            get_context("fork"),
            initializer=start_worker,
            initargs=(self.work, reader, self.writer),
        )
        try:
            for future in self._futures(pool, tasks):
                waiting.append(future)
                if len(waiting) > 2 * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise UserError(
                "a worker process died", "if it ran out of memory, use fewer --workers"
            ) from None
        except (KeyboardInterrupt, SystemExit):
            self.abandon()
            raise
        finally:
            # one that died while it wrote may keep the pool waiting
            pool.shutdown(wait=not self.abandoned, cancel_futures=True)
            self.abandon()
            os.close(reader)

    def abandon(self) -> None:
        """End the workers at once, whatever they are doing."""
        if not self.abandoned:
            self.abandoned = True
            os.close(self.writer)

    def _futures(self, pool: ProcessPoolExecutor, tasks: Iterator[T]) -> Iterator[Future[R]]:
        try:
            for task in tasks:
                yield pool.submit(do, task)
        except UserError as error:  # comes out in its turn, after what was read before it
            failed: Future[R] = Future()
            failed.set_exception(error)
            yield failed


class Workers(Pool[Block, Done]):
    """Processes that run a command over blocks of lines; results come in input order."""

    def __init__(
        self,
        workers: int,
        command: Callable[..., Iterator[Record]],
        shard: Shard | None,
        skip: bool,
        tally: Tally | None = None,
        *,
        seconds: float = 0,
    ) -> None:
        counts = None if tally is None else type(tally)
        work = partial(
            _work, command=command, shard=shard, skip=skip, counts=counts, seconds=seconds
        )
        super().__init__(workers, work)
        self.tally = tally

    @contextmanager
    def lines(
        self, records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[Iterator[bytes]]:
        """The lines that the command writes of `records`, which counts them, some at a time."""
        with closing(self.results(records.lines.blocks(BLOCK))) as results:
            try:
                yield self._taken(results, records, reject)
            except (KeyboardInterrupt, SystemExit):
                self.abandon()
                raise

    def _taken(
        self, results: Iterable[Done], records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[bytes]:
        for done in results:
            records.count += done.count
            yield done.output  # first: what comes before a bad record is written
            if self.tally is not None:
                self.tally.merge(done.tally)
            for rejected in done.rejected:
                reject(rejected)


_assigned: Callable[[Any], Any]  # to this worker: inherited, not sent with each task


def start_worker(work: Callable[[Any], Any], reader: int, writer: int) -> None:
    """Begin a worker's life: its work is known, and it ends with its parent."""
    global _assigned  # noqa: PLW0603 a process has one
    _assigned = work
    for number in ENDINGS:  # the parent handles them
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # by which a pool ends its workers
    os.close(writer)

    def watch() -> None:
        os.read(reader, 1)
        os._exit(1)  # the parent has ended, or wants no result

    threading.Thread(target=watch, daemon=True).start()


def do(task: Any) -> Any:
    """The result of the worker's work on a task."""
    return _assigned(task)


def _work(
    block: Block,
    command: Callable[..., Iterator[Record]],
    shard: Shard | None,
    skip: bool,
    counts: type[Any] | None,
    seconds: float,
) -> Done:
    """What the command makes of a block; between two records go by `seconds` at most, if any."""
    done = Done(tally=counts() if counts else None)
    records = Records(block, shard)

    def reject(rejected: Rejected) -> None:
        done.rejected.append(rejected)
        if not skip:
            raise _Stop
        signal.setitimer(signal.ITIMER_REAL, seconds)

    parts: list[bytes] = []
    signal.setitimer(signal.ITIMER_REAL, seconds)  # at its end the process ends
    try:
        for record in accepted(counting(command, done.tally), records, reject):
            parts.append(dump(record))
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds)
    except _Stop:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    done.output, done.count = b"".join(parts), records.count
    return done


class _Stop(Exception):
    """A worker met its first error and `--on-error fail` is set."""
