"""Run a command in processes that are replaced where a record stops or ends them."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from structkit.errors import UserError
from structkit.records.jsonl import Block
from structkit.records.rejects import Rejected
from structkit.records.workers.blocks import Done, Workers
from structkit.records.workers.pool import do, start_worker


@dataclass
class _Given:
    """A block, the process that it was given to, and what will come of it."""

    block: Block
    lane: int
    future: Future[Done]


class TimedWorkers(Workers):
    """Workers whose records have some seconds each; one that takes longer is rejected.

    So is one that ends its process or fills its memory. Each process has its own queue: of a block
    that ended one, the records are done again one at a time, until the one to blame is known.
    """

    def _results(self, tasks: Iterator[Block]) -> Generator[Done]:
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
            failed: Future[Done] = Future()
            failed.set_exception(error)
            yield _Given(Block("", 0, 0, b""), 0, failed)

    def _submitted(self, lane: int, block: Block) -> Future[Done]:
        try:
            return self.lanes[lane].submit(do, block)
        except BrokenProcessPool as error:  # by a block before it, whose turn will come
            broken: Future[Done] = Future()
            broken.set_exception(error)
            return broken

    def _done(self, given: _Given) -> Done:
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

    def _one_by_one(self, block: Block) -> Done:
        """What comes of the records of a block, each on its own in a process besides."""
        whole = Done(tally=type(self.tally)() if self.tally is not None else None)
        parts = []
        for at, line in enumerate(block.lines()):
            single = Block(block.file, block.line + at, block.number + at, line)
            done = self._alone(single)
            parts.append(done.output)
            whole.count += done.count
            whole.rejected += done.rejected
            if whole.tally is not None and done.tally is not None:
                whole.tally.merge(done.tally)
            if whole.rejected and not self.skip:
                break
        whole.output = b"".join(parts)
        return whole

    def _alone(self, single: Block) -> Done:
        started = time.monotonic()
        try:
            return self.result(self.single.submit(do, single))
        except MemoryError:
            error = UserError("needs more memory than there is", "leave the record out")
        except BrokenProcessPool:
            self.single.shutdown(wait=False)
            self.single = self._new_lane()
            error = self._ended(time.monotonic() - started)
        rejected = Rejected(error.at(single.file, single.line + 1), single.data)
        return Done(count=1, rejected=[rejected])

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
