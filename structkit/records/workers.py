"""Processes that do the same work on tasks, with the results in the order of the tasks.

Tests: tests/records/test_stream.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from structkit.errors import UserError, flag
from structkit.processes import Child
from structkit.records.jsonl import Records, Rejected, Shard, Stage
from structkit.records.lines import Block
from structkit.records.output import dump

T = TypeVar("T")
R = TypeVar("R")


class Pool(Generic[T, R]):
    """Processes that do the same work on tasks; results come in the order of the tasks."""

    def __init__(self, workers: int, work: Callable[[T], R]) -> None:
        self.workers = workers
        self.work = work

    def start(self) -> Executor:
        """Open the executor of the tasks."""
        return _Children(self.workers, self.work)

    def result(self, future: Future[R]) -> R:
        """Return the result of a task, once it is done."""
        return future.result()

    def results(self, tasks: Iterator[T]) -> Generator[R]:
        """Yield the workers' result of each task, in order; few tasks are under way at a time."""
        waiting: deque[Future[R]] = deque()
        with self.start() as pool:
            for future in self._futures(pool, tasks):
                waiting.append(future)
                if len(waiting) > 2 * self.workers:
                    yield self.result(waiting.popleft())
            while waiting:
                yield self.result(waiting.popleft())

    def _futures(self, pool: Executor, tasks: Iterator[T]) -> Iterator[Future[R]]:
        try:
            for task in tasks:
                yield pool.submit(self.work, task)
        except UserError as error:  # raised in its turn, after the results before it
            failed: Future[R] = Future()
            failed.set_exception(error)
            yield failed


class _Children(ThreadPoolExecutor):
    """Child processes, each with a thread that waits for it.

    Not a `ProcessPoolExecutor`: that waits for ever where a worker is killed while it writes a
    result, or where there is no memory to send a task.
    """

    def __init__(self, workers: int, work: Callable[[Any], Any]) -> None:
        super().__init__(workers)
        threads = 1 if workers > 1 else None
        self.children = [Child(work, threads=threads) for _ in range(workers)]
        self.free: SimpleQueue[Child[Any, Any]] = SimpleQueue()
        for each in self.children:
            each.start()  # before there is a thread
            self.free.put(each)

    def submit(self, _do: object, task: Any) -> Future[Any]:  # type: ignore[override]
        """Submit a task; the work is known."""
        return super().submit(self._result, task)

    def _result(self, task: Any) -> Any:
        child = self.free.get()
        try:
            if child.lives and (done := child.result(task)) is not None:
                return done
        finally:
            self.free.put(child)
        remedy = f"if it ran out of memory, use fewer {flag('workers')}"
        raise UserError("a worker process died", remedy)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the children, whatever they are doing."""
        super().shutdown(wait=False, cancel_futures=True)
        for each in self.children:
            each.close()
        super().shutdown(wait)


BLOCK = 1 << 18  # bytes that a worker gets at a time


@dataclass
class Outcome:
    """Result of a worker for a block."""

    output: bytes
    count: int
    rejected: list[Rejected]


class Workers(Pool[Block, Outcome]):
    """Processes that run a stage over blocks of lines; results come in input order."""

    def __init__(self, workers: int, stage: Stage, shard: Shard | None, skip: bool) -> None:
        super().__init__(workers, partial(_work, stage=stage, shard=shard, skip=skip))

    @contextmanager
    def lines(
        self, records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[Iterator[bytes]]:
        """Yield the lines of the stage's results for `records`, which counts them."""
        with closing(self.results(records.rest(BLOCK))) as results:
            yield self._outputs(results, records, reject)

    def _outputs(
        self, results: Iterable[Outcome], records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[bytes]:
        for done in results:
            records.count += done.count
            yield done.output  # first write the records before a bad one
            for rejected in done.rejected:
                reject(rejected)


def _work(block: Block, stage: Stage, shard: Shard | None, skip: bool) -> Outcome:
    """Return the outcome of the stage for a block."""
    records = Records(block, shard)
    parts: list[bytes] = []
    errors: list[Rejected] = []

    for record in stage.results(records, errors.append):
        if errors and not skip:
            break  # the first ends the command
        parts.append(dump(record))
    return Outcome(b"".join(parts), records.count, errors)
