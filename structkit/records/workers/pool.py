"""Processes that do the same work on tasks, with the results in the order of the tasks."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from structkit.errors import UserError
from structkit.signals import ENDINGS

T = TypeVar("T")
R = TypeVar("R")
PATIENCE = 1.0  # seconds between two looks whether all threads are there


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Pool(Generic[T, R]):
    """Processes that do the same work on tasks; results come in the order of the tasks."""

    def __init__(self, workers: int, work: Callable[[T], R]) -> None:
        self.workers = workers
        self.work = work
        self.abandoned = False
        self.failed: BaseException | None = None  # what ended a thread that serves the workers
        self.ends: tuple[int, ...] = ()  # of the pipe by which workers know that their parent lives

    def start(self) -> Executor:
        """What runs `do` on tasks."""
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
                yield pool.submit(do, task)
        except UserError as error:  # comes out in its turn, after what was read before it
            failed: Future[R] = Future()
            failed.set_exception(error)
            yield failed


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


def do(task: Any) -> Any:
    """The result of the worker's work on a task."""
    return _assigned(task)
