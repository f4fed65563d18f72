"""Processes that do the same work on tasks, with the results in the order of the tasks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

from structkit.errors import UserError
from structkit.processes import ENDINGS
from structkit.records.jsonl import Record, Records, Rejected, Shard, accepted
from structkit.records.lines import Block
from structkit.records.output import dump

T = TypeVar("T")
R = TypeVar("R")
PATIENCE = 1.0  # seconds between two looks whether all threads are there


class Pool(Generic[T, R]):
    """Processes that do the same work on tasks; results come in the order of the tasks."""

    def __init__(self, workers: int, work: Callable[[T], R]) -> None:
        self.workers = workers
        self.work = work
        self.abandoned = False
        self.failed: BaseException | None = None  # what ended a thread that serves the workers
        self.ends: tuple[int, ...] = ()  # of the pipe by which workers know that their parent lives

    def start(self) -> Executor:
        """What runs `work_on` on tasks."""
        self.ends = os.pipe()
        return ProcessPoolExecutor(
            self.workers,
            get_context("fork"),
            initializer=start_worker,
            initargs=(self.work, *self.ends),
        )

    def result(self, future: Future[R]) -> R:
        """What came of a task, once it is done. Errors: nobody is left to do it."""
        while not future.done() and not self.failed:
            wait([future], PATIENCE)
        if self.failed:
            raise self.failed
        return future.result()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notice where a thread that serves the workers cannot go on: they would wait for ever."""
        before = threading.excepthook

        def note(ended: threading.ExceptHookArgs) -> None:
            self.failed = ended.exc_value or MemoryError()

        threading.excepthook = note
        try:
            yield
        finally:
            threading.excepthook = before

    def results(self, tasks: Iterator[T]) -> Generator[R]:
        """What the workers made of each task, in order; few tasks are under way at a time."""
        with self.watched():
            yield from self._results(tasks)

    def _results(self, tasks: Iterator[T]) -> Generator[R]:
        waiting: deque[Future[R]] = deque()
        pool = self.start()
        try:
            for future in self._futures(pool, tasks):
                waiting.append(future)
                if len(waiting) > 2 * self.workers:
                    yield self.result(waiting.popleft())
            while waiting:
                yield self.result(waiting.popleft())
        except BrokenExecutor:
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

    def abandon(self) -> None:
        """End the workers at once, whatever they are doing."""
        if not self.abandoned:
            self.abandoned = True
            for end in self.ends:
                os.close(end)

    def _futures(self, pool: Executor, tasks: Iterator[T]) -> Iterator[Future[R]]:
        try:
            for task in tasks:
                yield pool.submit(work_on, task)
        except UserError as error:  # comes out in its turn, after what was read before it
            yield failing(error)


def failing(error: Exception) -> Future[Any]:
    """A future that raises an error."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


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

    try:
        threading.Thread(target=watch, daemon=True).start()
    except RuntimeError:  # no memory for it: the parent tells
        os._exit(1)


def work_on(task: Any) -> Any:
    """The result of the worker's work on a task."""
    return _assigned(task)


BLOCK = 1 << 18  # bytes that a worker gets at a time


@dataclass
class Outcome:
    """What a worker made of a block."""

    output: bytes = b""
    count: int = 0
    rejected: list[Rejected] = field(default_factory=list)


class Workers(Pool[Block, Outcome]):
    """Processes that run a command over blocks of lines; results come in input order."""

    def __init__(
        self,
        workers: int,
        command: Callable[..., Iterator[Record]],
        shard: Shard | None,
        skip: bool,
        *,
        seconds: float = 0,
    ) -> None:
        work = partial(_work, command=command, shard=shard, skip=skip, seconds=seconds)
        super().__init__(workers, work)
        self.skip, self.seconds = skip, seconds

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
        self, results: Iterable[Outcome], records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[bytes]:
        for done in results:
            records.count += done.count
            yield done.output  # first: what comes before a bad record is written
            for rejected in done.rejected:
                reject(rejected)


def _work(
    block: Block,
    command: Callable[..., Iterator[Record]],
    shard: Shard | None,
    skip: bool,
    seconds: float,
) -> Outcome:
    """What the command makes of a block; between two records go by `seconds` at most, if any."""
    done = Outcome()
    records = Records(block, shard)

    def reject(rejected: Rejected) -> None:
        done.rejected.append(rejected)
        if not skip:
            raise _Stop
        signal.setitimer(signal.ITIMER_REAL, seconds)

    parts: list[bytes] = []
    signal.setitimer(signal.ITIMER_REAL, seconds)  # at its end the process ends
    try:
        for record in accepted(command, records, reject):
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


@dataclass
class _Given:
    """A block, the process that it was given to, and what will come of it."""

    block: Block
    lane: int
    future: Future[Outcome]


class TimedWorkers(Workers):
    """Workers whose records have some seconds each; one that takes longer is rejected.

    So is one that ends its process or fills its memory. Each process has its own queue: of a block
    that ended one, the records are done again one at a time, until the one to blame is known.
    """

    def _results(self, tasks: Iterator[Block]) -> Generator[Outcome]:
        self.ends = os.pipe()
        self._new_lane = partial(
            ProcessPoolExecutor,
            1,
            get_context("fork"),
            initializer=_start_timed,
            initargs=(self.work, *self.ends),
        )
        self.lanes = [self._new_lane() for _ in range(self.workers)]
        self.single = self._new_lane()  # its process starts when it is needed
        self.waiting: deque[_Given] = deque()
        try:
            for given in self._given(tasks):
                self.waiting.append(given)
                if len(self.waiting) > 2 * self.workers:
                    yield self._done(self.waiting.popleft())
            while self.waiting:
                yield self._done(self.waiting.popleft())
        except (KeyboardInterrupt, SystemExit):
            self.abandon()
            raise
        finally:
            for lane in (*self.lanes, self.single):
                lane.shutdown(wait=not self.abandoned, cancel_futures=True)
            self.abandon()

    def _given(self, blocks: Iterator[Block]) -> Iterator[_Given]:
        """Each block, given to the process with the fewest."""
        try:
            for block in blocks:
                busy = [each.lane for each in self.waiting if not each.future.done()]
                lane = min(range(self.workers), key=busy.count)
                yield _Given(block, lane, self._submitted(lane, block))
        except UserError as error:  # comes out in its turn, after what was read before it
            yield _Given(Block("", 0, 0, b""), 0, failing(error))

    def _submitted(self, lane: int, block: Block) -> Future[Outcome]:
        try:
            return self.lanes[lane].submit(work_on, block)
        except BrokenProcessPool as error:  # by a block before it, whose turn will come
            return failing(error)

    def _done(self, given: _Given) -> Outcome:
        """What came of a block, whatever it did to its process."""
        try:
            return self.result(given.future)
        except MemoryError:
            return self._one_by_one(given.block)
        except BrokenProcessPool:
            self.lanes[given.lane].shutdown(wait=False)
            self.lanes[given.lane] = self._new_lane()
            for each in self.waiting:  # these had no chance
                if each.lane == given.lane and each.block.data:
                    each.future = self._submitted(each.lane, each.block)
            return self._one_by_one(given.block)

    def _one_by_one(self, block: Block) -> Outcome:
        """What comes of the records of a block, each on its own in a process besides."""
        whole = Outcome()
        parts = []
        for at, line in enumerate(block.lines()):
            single = Block(block.file, block.line + at, block.number + at, line)
            done = self._alone(single)
            parts.append(done.output)
            whole.count += done.count
            whole.rejected += done.rejected
            if whole.rejected and not self.skip:
                break
        whole.output = b"".join(parts)
        return whole

    def _alone(self, single: Block) -> Outcome:
        started = time.monotonic()
        try:
            return self.result(self.single.submit(work_on, single))
        except MemoryError:
            error = UserError("needs more memory than there is", "leave the record out")
        except BrokenProcessPool:
            self.single.shutdown(wait=False)
            self.single = self._new_lane()
            error = self._ended(time.monotonic() - started)
        rejected = Rejected(error.at(single.file, single.line + 1), single.data)
        return Outcome(count=1, rejected=[rejected])

    def _ended(self, seconds: float) -> UserError:
        if seconds < self.seconds:
            return UserError("ends its process, or fills the memory", "leave the record out")
        problem = f"takes longer than {self.seconds:g} s"
        return UserError(problem, "raise --record-timeout, or leave the record out")


def _start_timed(work: Callable[[Any], Any], reader: int, writer: int) -> None:
    start_worker(work, reader, writer)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, even inside a library
    with suppress(OSError):  # where memory is short, a worker ends, and not the parent
        Path("/proc/self/oom_score_adj").write_text("1000")
