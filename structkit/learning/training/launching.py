"""The processes of a training: torch's elastic launcher starts and watches them, on every node.

The launcher of each node runs in the process of the user; machine 0 hosts the rendezvous, where the
launchers meet. A process that fails ends all others, or all are started again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.elastic.rendezvous.api import (
    RendezvousConnectionError,
    RendezvousError,
    RendezvousTimeoutError,
)
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.distributed.rendezvous import rendezvous

from structkit.children import without_script
from structkit.errors import UserError
from structkit.learning.training.devices import chosen_device
from structkit.learning.training.nodes import ALONE, Nodes
from structkit.progress import say
from structkit.signals import ended_by, heard

SHUTDOWN = 120  # seconds that a process may take to finish its step and save a checkpoint
GRACE = 2.0  # seconds that a process lives on that lost another: so the cause is seen first
PLACE = "TORCHELASTIC_ERROR_FILE"  # where torch leaves the error of a process
LOOPBACK = "127."


def check_ranks(count: int, device: str | None) -> None:
    """Raise if a device cannot be used, or there are fewer GPUs than processes."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if not device.startswith("cuda"):
        chosen_device(device)
    elif torch.cuda.device_count() < count:
        raise UserError(
            f"--nproc {count} needs as many GPUs, but there are {torch.cuda.device_count()}",
            "lower --nproc, or use --device cpu",
            status=2,
        )


def useful(count: int, batch: int) -> int:
    """How many of `count` processes have work: a core and a record of the batch for each.

    >>> useful(1, 32), useful(99, 1)
    (1, 1)
    """
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    processes = min(count, batch, cores)
    if processes < count:
        say(f"--nproc {count} becomes {processes}: {batch:,} records in a batch, {cores} cores")
    return processes


def restarts() -> int:
    """How often the processes were started again."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) if PLACE in os.environ else 0


def launch(
    call: Callable[..., Any],
    count: int,
    device: str | None,
    *arguments: Any,
    nodes: Nodes = ALONE,
    max_restarts: int = 0,
) -> Any:
    """Run `call(*arguments, device=…)` in `count` processes here, and as many on each other node.

    Returns what the first process here returns. Errors: that of the process that failed first,
    after all have ended. A signal to end is passed on, and processes then end by themselves.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if count * nodes.count > 1:
        device = device.partition(":")[0]
    folder_of_ranks = tempfile.TemporaryDirectory(prefix="structkit-ranks-")
    with folder_of_ranks as folder, _watched(), without_script():
        try:
            config = _config(count, nodes, max_restarts, folder)
            results = elastic_launch(config, _process)(call, count, nodes, device, arguments)
        except SignalException as error:
            raise ended_by(error.sigval) from None
        except ChildFailedError as error:
            raise _cause(error, count * nodes.rank) from None
        except (RendezvousTimeoutError, distributed.DistError):
            raise nodes.apart() from None
        except RendezvousError as error:
            if isinstance(error, RendezvousConnectionError) and nodes.rank == 0:
                raise UserError(
                    f"machine 0 cannot listen at {nodes.host}:{nodes.port}",
                    "give --rendezvous a name of this machine and a free port",
                ) from None
            raise UserError(
                f"the {nodes.count} machines did not stay together: {error}",
                "see the errors of the others, and start all of them again with --resume",
            ) from None
    return results[min(results)]


def _config(count: int, nodes: Nodes, max_restarts: int, folder: str) -> LaunchConfig:
    silent = {place: Std.ALL for place in range(count) if place or nodes.rank}
    config = LaunchConfig(
        min_nodes=nodes.count,
        max_nodes=nodes.count,
        nproc_per_node=count,
        run_id="structkit",
        rdzv_backend="c10d",
        rdzv_endpoint=f"{nodes.host}:{nodes.port}",
        rdzv_configs={"is_host": nodes.rank == 0, "join_timeout": nodes.patience},
        max_restarts=max_restarts,
        local_addr=nodes.address(),
        logs_specs=DefaultLogsSpecs(log_dir=folder, redirects=silent),  # the first speaks for all
    )
    # older versions of torch do not have these two, and go without
    config.signals_to_handle = ",".join(number.name for number in heard())
    config.shutdown_timeout = SHUTDOWN
    return config


@contextmanager
def _watched() -> Iterator[None]:
    """Put back the handlers of signals, and leave no process behind."""
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in heard() if main}
    others, silenced = multiprocessing.active_children(), logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # torch logs what is raised
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # else a restart finds old addresses
    try:
        yield
    finally:
        for child in multiprocessing.active_children():
            if child not in others:
                child.kill()
                child.join()
        logging.disable(silenced)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _cause(error: ChildFailedError, first: int) -> BaseException:
    """Why the process ended that failed first; a bug keeps its traceback."""
    failure: ProcessFailure = error.get_first_failure()[1]
    left = _left(failure.error_file)
    if left.is_file():
        known: UserError = pickle.loads(left.read_bytes())  # noqa: S301 our own process wrote it
        return known
    if failure.exitcode > 128:
        return ended_by(failure.exitcode - 128)
    if failure.exitcode < 0:
        return UserError(
            f"process {first + failure.local_rank} of the training ended with status "
            f"{failure.exitcode}",
            "continue from the last checkpoint with --resume; if it ran out of memory, start again "
            "with a lower --batch-size or --chunk-size",
        )
    return error


def _left(place: str) -> Path:
    return Path(place).with_suffix(".pickle")


def _process(
    call: Callable[..., Any], count: int, nodes: Nodes, device: str, arguments: tuple[Any, ...]
) -> Any:
    """Run one process from start to end."""
    os.setsid()  # Ctrl-C reaches only the launcher, which passes it on
    for number in heard():  # until there are steps to finish, nothing is to be saved
        signal.signal(number, signal.SIG_DFL)
    launcher = multiprocessing.parent_process()
    if launcher is None or not launcher.is_alive():  # torch asks for a signal from here on only
        sys.exit(1)
    try:
        result = _joined(call, count, nodes, device, arguments)
        for number in heard():  # torch waits now, until the launcher has the result
            signal.signal(number, signal.SIG_DFL)
        if not launcher.is_alive():  # its end was told while the model was written
            sys.exit(1)
        return result
    except KeyboardInterrupt:  # torch would take it for success
        sys.exit(128 + signal.SIGINT)
    except UserError as error:
        _left(os.environ[PLACE]).write_bytes(pickle.dumps(error))
        raise
    except RuntimeError as error:
        if not _by_others(error):
            raise
        time.sleep(GRACE)
        lost = UserError(
            "a process on another machine ended, and with it the training",
            "see its error there, and start all machines again with --resume",
        )
        _left(os.environ[PLACE]).write_bytes(pickle.dumps(lost))
        raise lost from error


def _by_others(error: BaseException) -> bool:
    """Whether an exchange between processes failed: then another one has ended."""
    innermost = traceback.extract_tb(error.__traceback__)[-1].filename
    return Path(innermost).is_relative_to(Path(distributed.__file__).parent)


def _joined(
    call: Callable[..., Any], count: int, nodes: Nodes, device: str, arguments: tuple[Any, ...]
) -> Any:
    local = int(os.environ["LOCAL_RANK"])
    if device == "cuda":
        torch.cuda.set_device(local)
        device = f"cuda:{local}"
    torch.set_num_threads(max(1, torch.get_num_threads() // count))
    if sys.platform == "linux" and os.environ["MASTER_ADDR"].startswith(LOOPBACK):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one machine, whatever its name
    rank, ranks = nodes.rank * count + local, nodes.count * count
    backend = "nccl" if device.startswith("cuda") else "gloo"
    distributed.init_process_group(
        backend,
        store=_met(rank, ranks, nodes),
        rank=rank,
        world_size=ranks,
        timeout=timedelta(hours=2),
    )
    result = call(*arguments, device=device)
    distributed.barrier()
    distributed.destroy_process_group()
    return result


def _met(rank: int, ranks: int, nodes: Nodes) -> Any:
    """The store of all processes, when all are there."""
    patience = timedelta(seconds=nodes.patience)
    try:
        store, _, arrived = next(rendezvous("env://", timeout=patience))
        if arrived != ranks:
            raise UserError(
                f"{arrived} processes came, not {ranks}", "give all machines the same --nproc"
            )
        if store.add(f"rank {rank}", 1) > 1:
            raise UserError("two machines have the same --node-rank", "count them from 0")
        store.wait([f"rank {each}" for each in range(ranks)], patience)
    except distributed.DistError:
        time.sleep(GRACE)
        raise nodes.apart() from None
    return store
