"""Work on tasks in a Ray cluster, which retries lost tasks."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from structkit.errors import UserError, flag, spelled_for, surface
from structkit.extras import require
from structkit.processes import ENDINGS, LOCAL, limit_threads
from structkit.records.lines import Block, limit_bytes, maximum_bytes
from structkit.records.workers import Outcome, Pool, R, T, Workers
from structkit.version import __version__

RETRIES = 3
STORE = 80 << 20  # bytes for blocks in transit; Ray's minimum is 75 MiB
PATIENCE = 10.0  # seconds to start, where it is to end again: its processes may have ended before
SECONDS = 5.0  # that a cluster has to answer: Ray itself would try for more than a minute


class RayPool(Pool[T, R]):
    """Processes of a Ray cluster, or of a Ray that lives as long as they do.

    A task whose process or machine is lost is given to another.
    """

    def __init__(self, address: str, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.address = address

    def start(self) -> Executor:
        """Open the cluster; one task per processor is under way."""
        cluster = _Cluster(self.address, self.workers, self.work)
        self.workers, self.errors = cluster.processors, cluster.errors
        return cluster

    def result(self, future: Future[R]) -> R:
        """Return the result of a task, or raise the error of its work."""
        try:
            return future.result()
        except self.errors.RayTaskError as error:
            raise error.cause from error
        except self.errors.RayError as error:
            kind = type(error).__name__
            raise UserError(
                f"worker processes died, {RETRIES + 1} times over the same records (Ray: {kind})",
                f"if they ran out of memory, use fewer {flag('workers')}",
            ) from None


class RayWorkers(RayPool[Block, Outcome], Workers):
    """Workers that are processes of a Ray cluster."""


class _Cluster(Executor):
    """Ray cluster that does one work: a running one, or one started here."""

    def __init__(self, address: str, processors: int, work: Callable[[Any], Any]) -> None:
        # all is read when Ray is imported or started
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if address == LOCAL:
            os.environ |= {
                "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # it listens on 127.0.0.1 only,
                "RAY_AUTH_MODE": "token",  # to us only, and keeps no token in the home folder
                "RAY_AUTH_TOKEN": os.urandom(32).hex(),
            }
        ray = require("ray", "ray")
        with ExitStack() as opened:
            # Ray sets handlers of signals in the main thread only, where ours are to stay; and its
            # processes end with the thread that started them
            thread = ThreadPoolExecutor(1)
            opened.callback(thread.shutdown, wait=False)
            if address == LOCAL:
                temporary = TemporaryDirectory(prefix="structkit-ray-", ignore_cleanup_errors=True)
                place = opened.enter_context(temporary)
                remedy = "set TMPDIR to a short name of a folder with room"
                init = partial(ray.init, "local", **_own(processors, place))
            else:
                init = partial(ray.init, address)
                remedy = "ray status shows whether a cluster runs on this machine"
                if address != "auto":
                    _ask(address)
            started = thread.submit(init, log_to_driver=False, logging_level="ERROR")
            # Ray reports lost tasks on stdout, where our records may go
            own = ray._private.worker
            opened.callback(setattr, own, "_worker_logs_enabled", own._worker_logs_enabled)
            own._worker_logs_enabled = False
            opened.callback(ray.shutdown)
            opened.callback(wait, [started], PATIENCE)  # where a signal comes in between
            try:
                started.result()
            except (OSError, RuntimeError, ValueError) as error:
                problem = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
                raise UserError(f"Ray cannot be used: {problem}", remedy) from None
            for number in ENDINGS:  # Ray's own code sets some behind Python's back
                signal.signal(number, signal.getsignal(number))
            self.processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
            self.errors = ray.exceptions
            self.task = ray.remote(max_retries=RETRIES)(_portable(work))
            self.opened = opened.pop_all()

    def submit(self, _do: object, task: Any) -> Future[Any]:  # type: ignore[override]
        """Submit a task; the work is known."""
        done: Future[Any] = self.task.remote(task).future()
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which ends the work begun here."""
        self.opened.close()


def _own(processors: int, place: str) -> dict[str, Any]:
    """Return how Ray is started on this machine for one command."""
    return {
        "num_cpus": processors,
        "include_dashboard": False,
        "object_store_memory": STORE,
        "_temp_dir": place,
        "_node_ip_address": "127.0.0.1",
        "_system_config": {
            # where others fill the memory, it would kill our workers, and not come to an end
            "memory_monitor_refresh_ms": 0,
            "worker_niceness": 0,  # 15 for Ray, which a busy machine leaves no time
        },
    }


def _ask(address: str) -> None:
    """Raise if nothing listens at the address of a cluster."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), port), SECONDS).close()
    except OSError as error:
        raise UserError(
            f"no Ray cluster answers at {address}: {error.strerror or error}",
            "start one with ray start, or give local, auto or HOST:PORT",
        ) from None


def _portable(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the work as a function that processes on any machine can load."""
    version, most, spelling = __version__, maximum_bytes(), surface()

    def do(task: Any) -> Any:
        check_version(version)
        limit_bytes(most)
        limit_threads(1)
        with spelled_for(spelling):
            return work(task)

    return do


def check_version(version: str) -> None:
    """Raise, in a worker, if its version differs from the version that gives it work."""
    if version != __version__:
        raise UserError(
            f"a node of the cluster has structkit {__version__}, and not {version}",
            "install the same version everywhere",
            status=2,
        )
