"""Processes: what libraries compute with in this one, signals that end it, and work in others.

A signal raises, so that the program cleans up as after an error.
"""

import gc
import math
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import PurePath
from threading import Event, current_thread, main_thread
from types import ModuleType
from typing import IO, Any, Generic, NoReturn, TypeVar
from weakref import WeakSet

Groupable = TypeVar("Groupable")
Task = TypeVar("Task")
Result = TypeVar("Result")

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEANUP_SECONDS = 2.0  # seconds that cleaning up may take undisturbed
MMAP_THRESHOLD = -3  # in glibc's malloc.h: how large a block is mapped by itself
POLL_SECONDS = 0.001  # seconds between looks whether a child has ended


def cores() -> int:
    """Return the number of processors that this process may use, by affinity and quota."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    return max(1, math.ceil(min(len(os.sched_getaffinity(0)), cpu_quota())))


def group_by_size(
    items: Iterable[Groupable], *limits: tuple[Callable[[Groupable], int], int]
) -> Iterator[list[Groupable]]:
    """Yield some items at a time: until the sum of a size of theirs reaches its limit.

    >>> list(group_by_size([1, 1, 5, 1], (lambda _: 1, 3), (lambda each: each, 6)))
    [[1, 1, 5], [1]]
    """
    group = list[Groupable]()
    sums = [0] * len(limits)
    for item in items:
        group.append(item)
        is_full = False
        for number, (size, limit) in enumerate(limits):
            sums[number] += size(item)
            is_full |= sums[number] >= limit
        if is_full:
            yield group
            group = []
            sums = [0] * len(limits)
    if group:
        yield group


def cpu_quota(system: str = "/sys/fs/cgroup", process: str = "/proc/self/cgroup") -> float:
    """Return how many processors the control groups of this process allow; infinite without any.

    They are of version 2: Linux distributions and container engines have it since 2022.
    """
    counts = [math.inf]
    for line in _read_text(process).splitlines():
        group = line.removeprefix("0::")
        for parent in (group, *map(str, PurePath(group).parents)):
            quota, _, period = _read_text(f"{system}{parent}/cpu.max").partition(" ")
            if quota.isdecimal():  # otherwise it is `max`
                counts.append(int(quota) / int(period))
    return min(counts)


def _read_text(file: str, maximum: int = -1) -> str:
    """Return the content of a file, or its first characters, or "" if it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as handle:
            return handle.read(maximum)
    except OSError:
        return ""


def return_freed(size: int) -> None:
    """Return blocks of at least so many bytes to the system as soon as they are freed.

    glibc keeps those of up to 32 MB, which lie between others that stay. Other C libraries do as
    they do.
    """
    if sys.platform == "linux":
        import ctypes  # 4 ms that other commands need not pay

        with suppress(AttributeError):  # musl has none
            ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, size)


def limit_threads(count: int) -> None:
    """Limit each library to `count` threads, in one of several processes.

    Otherwise each process starts a thread per processor: with two processes OpenBLAS takes 20 times
    as long as with one. A user who set one limit for loaded libraries has set them all.
    """
    given = {name for name, value in os.environ.items() if value and name.endswith("_NUM_THREADS")}
    # for libraries that are loaded later
    for name in {"OMP_NUM_THREADS", "RAYON_NUM_THREADS"} - given:
        os.environ[name] = str(count)
    if given - {"RAYON_NUM_THREADS"}:
        return
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(count)
    if "numpy" in sys.modules or torch:
        from threadpoolctl import threadpool_limits  # 20 ms, which one process need not pay

        threadpool_limits(count)


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """End this process where the block takes so many bytes more; on Linux, if `more` is not 0."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read_text("/proc/self/statm").partition(" ")[0] if more else ""
    if pages:
        current_and_more = int(pages) * resource.getpagesize() + more
        lowest = min(
            limit for limit in (current_and_more, soft, hard) if limit != resource.RLIM_INFINITY
        )
        resource.setrlimit(resource.RLIMIT_AS, (lowest, hard))
    try:
        yield
    except MemoryError:
        if pages:
            os._exit(1)
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def one_thread() -> Iterator[None]:
    """Let libraries of linear algebra compute in one thread while the block runs."""
    from threadpoolctl import threadpool_limits  # 20 ms, which little work need not pay

    with threadpool_limits(1, "blas"):
        yield


# Intel's MKL multiplies matrices for torch, and promises equal bits on Intel processors. On others
# with AVX-512 two equal products may differ in their last bits, unless its code is used that is the
# same everywhere, a third as fast. With AVX2 alone equal trainings were equal in all methods
MKL_MODE = "MKL_CBWR"
MKL_COMPATIBLE = "COMPATIBLE"
CPUINFO = "/proc/cpuinfo"


def is_repeatable(cpuinfo: str = CPUINFO) -> bool:
    """Return whether MKL, if there is one, gives equal bits at full speed on this processor."""
    first = _read_text(cpuinfo, 1 << 12).partition("\n\n")[0]
    return "vendor_id" not in first or "GenuineIntel" in first or "avx512" not in first


def make_repeatable(cpuinfo: str = CPUINFO) -> None:
    """Let equal runs of torch have equal bits, unless the user has said how MKL computes.

    MKL reads the variable when torch first computes.
    """
    if not is_repeatable(cpuinfo):
        os.environ.setdefault(MKL_MODE, MKL_COMPATIBLE)


def repeatability_problem(cpuinfo: str = CPUINFO) -> str:
    """Return why equal runs may differ, with the remedy; empty if they do not."""
    if is_repeatable(cpuinfo) or is_mkl_compatible():
        return ""
    given = os.environ.get(MKL_MODE) or "unset"
    return f"{MKL_MODE} is {given}; set it to {MKL_COMPATIBLE} before torch is imported"


def is_mkl_compatible() -> bool:
    """Return whether MKL computes with the code that is the same everywhere."""
    return os.environ.get(MKL_MODE, "").upper() == MKL_COMPATIBLE


def exit_for(number: int) -> BaseException:
    """Return the exception for a signal: Ctrl-C, or an exit status of 128 and its number."""
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def handled_signals() -> list[signal.Signals]:
    """Return the signals that end this program; nohup and a shell's `&` make it ignore some."""
    return [number for number in ENDING_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def raise_at_signals() -> Iterator[list[int]]:
    """Raise at signals, so that open files are cleaned up; yield the list of those that came.

    Meanwhile a second signal is ignored, so that no files are left over; if cleaning up takes long,
    it ends the program at once.
    """
    first_time = 0.0
    came = list[int]()

    def end(number: int, frame: object) -> None:
        nonlocal first_time
        now = time.monotonic()
        if not came:
            first_time = now
            came.append(number)
            raise exit_for(number)
        if now - first_time > CLEANUP_SECONDS:
            os._exit(128 + number)

    for number in handled_signals():
        signal.signal(number, end)
    try:
        yield came
    finally:
        for number in handled_signals():  # nothing is left to clean up
            signal.signal(number, lambda number, _: os._exit(128 + number))


@contextmanager
def noting_signals() -> Iterator[list[int]]:
    """Note a signal that asks the run to stop; a second signal stops it at once."""
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise exit_for(number)
        asked.append(number)

    main = current_thread() is main_thread()
    before = {number: signal.signal(number, ask) for number in handled_signals() if main}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_program(status: int) -> NoReturn:
    """End the program; after a signal, without waiting for threads or libraries."""
    if status > 128:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # it may be closed
                stream.flush()
        os._exit(status)
    sys.exit(status)


@contextmanager
def without_script() -> Iterator[None]:
    """Keep processes that multiprocessing spawns from running the user's script again.

    Otherwise a script would need `if __name__ == "__main__":`.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def in_child(work: Callable[[], Result], seconds: float, memory: int = 0) -> Result | None:
    """Return the result of `work`; None if it is killed, or takes more CPU time or memory."""
    child: Child[None, Result] = Child(lambda _: work())
    with closing(child):
        return child.result(None, seconds, memory)


class Child(Generic[Task, Result]):
    """Process that does the same work on one task after the other, and that can be stopped.

    It starts with the first task, and again after a task ended it. Forking per task would cost a
    fifth of the time of reading files, because pages that both processes touch are copied.
    """

    def __init__(self, work: Callable[[Task], Result], *, threads: int | None = None) -> None:
        self.work, self.threads = work, threads  # None: as many as this process has
        self._working = Event()
        self.close: Callable[[], object] = lambda: None
        self._pipes: tuple[IO[bytes], IO[bytes]] | None = None

    @property
    def lives(self) -> bool:
        """Whether it has begun, and no task has ended it."""
        return self._pipes is not None

    def result(self, task: Task, seconds: float = 0, memory: int = 0) -> Result | None:
        """Return the result of a task; None if it is killed, or takes more CPU time or memory."""
        tasks, results = self._pipes or self.start()
        self._working.set()
        try:
            pickle.dump((task, seconds, memory), tasks)
            tasks.flush()
            done, result = pickle.load(results)
            self._working.clear()
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            # it was killed; a pipe that another thread closes raises ValueError
            if isinstance(error, ValueError) and not results.closed:
                raise
            self.close()
            self._pipes = None
            return None
        # repeat it here, so that its error is seen
        return result if done else self.work(task)

    def start(self) -> tuple[IO[bytes], IO[bytes]]:
        """Start the process and return its pipes; with threads, a fork may wait for locks."""
        from multiprocessing.util import Finalize  # takes time that few programs need to pay

        ends = [os.pipe() for _ in range(2)]
        files = [(open(readable, "rb"), open(writable, "wb")) for readable, writable in ends]
        (its_tasks, tasks), (results, its_results) = files
        child = os.fork()
        if not child:
            tasks.close()  # so it ends with its parent
            results.close()
            self._serve(its_tasks, its_results)
        its_tasks.close()
        its_results.close()
        # also at the end of this process
        arguments = child, self._working, tasks, results
        self.close = Finalize(self, _end_child, arguments, exitpriority=0)
        _started.add(self)
        self._working.clear()
        self._pipes = tasks, results
        return self._pipes

    def _serve(self, tasks: IO[bytes], results: IO[bytes]) -> NoReturn:
        """Run the child, which exits without its parent's exit handlers."""
        try:
            gc.freeze()  # the parent's to collect: libraries would wait for threads of theirs
            for number in ENDING_SIGNALS:  # the parent handles them
                signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGPROF, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            if self.threads:
                limit_threads(self.threads)
            while given := pickle.load(tasks):
                task, seconds, memory = given
                signal.setitimer(signal.ITIMER_PROF, seconds)
                done: tuple[bool, Result | None] = False, None
                with suppress(Exception), memory_limit(memory):
                    done = True, self.work(task)
                signal.setitimer(signal.ITIMER_PROF, 0)
                pickle.dump(done, results)  # not copied before: it may be large
                results.flush()
                del given, task, done  # while the next task is read
            for child in list(_started):  # so that what they cost is known to the parent
                child.close()  # no more than forgets the parent's own
        finally:
            os._exit(1)


_started: WeakSet[Child[Any, Any]] = WeakSet()


def end_now(status: int) -> NoReturn:
    """End the program and the processes that it started, whatever its threads do."""
    for child in list(_started):
        child.close()
    os._exit(status)


def _end_child(child: int, working: Event, tasks: IO[bytes], results: IO[bytes]) -> None:
    """End a child: at once if it does anything, else by its own hand, which ends its children."""
    ended = 0
    try:
        if not working.is_set():
            with suppress(OSError):
                pickle.dump(None, tasks)
                tasks.flush()
            deadline = time.monotonic() + CLEANUP_SECONDS
            while not ended and time.monotonic() < deadline:
                ended, _ = os.waitpid(child, os.WNOHANG)
                time.sleep(0 if ended else POLL_SECONDS)
    except ChildProcessError:
        ended = child  # its end was not kept for us: SIGCHLD is ignored
    finally:
        if not ended:
            os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
    for pipe in (tasks, results):
        with suppress(OSError):  # it did not read everything
            pipe.close()
