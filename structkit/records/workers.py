"""Processes that do the same work on tasks, with the results in the order of the tasks.

Tests: tests/records/test_stream.py.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Generic

from structkit.errors import UserError, flag
from structkit.processes import Child, Result, Task
from structkit.records.jsonl import Block, Records, Rejected, Shard, Stage
from structkit.records.output import dump

WORKER_BLOCK_BYTES = 1 << 18  # bytes that a worker gets at a time


class Pool(Generic[Task, Result]):
    """Child processes that do the same work on tasks, each with a thread that waits for it.

    Not a `ProcessPoolExecutor`: that waits for ever where a worker is killed while it writes a
    result, or where there is no memory to send a task.
    """

    def __init__(self, workers: int, work: Callable[[Task], Result]) -> None:
        self.workers = workers
        self.work = work
        self._free: SimpleQueue[Child[Task, Result]] = SimpleQueue()

    def results(self, tasks: Iterator[Task]) -> Generator[Result]:
        """Yield the workers' result of each task, in order; few tasks are under way at a time."""
        threads = 1 if self.workers > 1 else None
        children = [Child(self.work, threads=threads) for _ in range(self.workers)]
        waiting: deque[Future[Result]] = deque()
        pool = ThreadPoolExecutor(self.workers)
        try:
            for each in children:
                each.start()  # before there is a thread
                self._free.put(each)
            for future in self._futures(pool, tasks):
                waiting.append(future)
                if len(waiting) > 2 * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # whatever the children are doing
            pool.shutdown(wait=False, cancel_futures=True)
            for each in children:
                each.close()
            pool.shutdown()

    def _futures(self, pool: ThreadPoolExecutor, tasks: Iterator[Task]) -> Iterator[Future[Result]]:
        try:
            for task in tasks:
                yield pool.submit(self._result, task)
        except UserError as error:  # raised in its turn, after the results before it
            failed: Future[Result] = Future()
            failed.set_exception(error)
            yield failed

    def _result(self, task: Task) -> Result:
        child = self._free.get()
        try:
            if child.lives and (done := child.result(task)) is not None:
                return done
        finally:
            self._free.put(child)
        raise UserError(
            "a worker process died", f"if it ran out of memory, use fewer {flag('workers')}"
        )


@dataclass
class Outcome:
    """Result of a worker for a block."""

    output: bytes
    count: int
    rejected: list[Rejected]


def lines_by_workers(
    workers: int, stage: Stage, records: Records, reject: Callable[[Rejected], None], *, skip: bool
) -> Generator[bytes]:
    """Yield lines of a stage's results for the rest of `records`, which counts them, in order."""
    work = partial(_outcome, stage=stage, shard=records.shard, skip=skip)
    with closing(
        Pool(workers, work).results(records.remaining_blocks(WORKER_BLOCK_BYTES))
    ) as outcomes:
        for done in outcomes:
            records.count += done.count
            yield done.output  # first write the records before a bad one
            for rejected in done.rejected:
                reject(rejected)


def _outcome(block: Block, stage: Stage, shard: Shard | None, skip: bool) -> Outcome:
    """Return the outcome of the stage for a block."""
    records = Records(block, shard)
    parts: list[bytes] = []
    errors: list[Rejected] = []

    for record in stage.results(records, errors.append):
        if errors and not skip:
            break  # the first ends the command
        parts.append(dump(record))
    return Outcome(b"".join(parts), records.count, errors)
