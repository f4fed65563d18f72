"""The processes of a training: torch's elastic launcher starts and watches them.

For `--nproc` it runs in the process of the user, on one machine; for several machines the user
starts it: `torchrun … -m structkit train`. A process that fails ends all others.
"""

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
import torch.distributed.nn  # before there is a group, which defaults of its functions would keep
from torch import distributed
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from structkit.errors import Surface, UserError, flag, surface, use_surface, wrong_usage
from structkit.processes import exit_for, handled_signals, limit_threads, without_script

SHUTDOWN_SECONDS = 120  # seconds that a process may take to finish its step and save a checkpoint
GRACE_SECONDS = 2.0  # seconds that a process lives on that lost another: so the cause is seen first
ERROR_FILE_VARIABLE = "TORCHELASTIC_ERROR_FILE"  # where torch leaves the error of a process
SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"
LOOPBACK_PREFIXES = ("127.", "localhost")


def launch(call: Callable[[], Any], count: int) -> Any:
    """Run `call()` in `count` processes on this machine, and return the first one's result.

    Errors: the first failed process's, after all have ended. A signal to end is passed
    on, and processes then end by themselves.
    """
    folder_of_ranks = tempfile.TemporaryDirectory(prefix="structkit-ranks-")
    with folder_of_ranks as folder, _signals_restored(), _safe_imports(), without_script():
        try:
            config = _config(count, folder)
            results = elastic_launch(config, _process)(call, count, surface())
        except SignalException as error:
            raise exit_for(error.sigval) from None
        except ChildFailedError as error:
            raise _cause(error) from None
    return results[0]


def check_gpus(count: int) -> None:
    """Raise if there are GPUs, but fewer than processes."""
    if torch.cuda.is_available() and torch.cuda.device_count() < count:
        raise wrong_usage(
            f"{flag('nproc', count)} needs as many GPUs, but there are {torch.cuda.device_count()}",
            "lower it, or hide them: CUDA_VISIBLE_DEVICES=",
        )


def _config(count: int, folder: str) -> LaunchConfig:
    silent = dict.fromkeys(range(1, count), Std.ALL)  # the first speaks for all
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id="structkit",
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        rdzv_configs={"is_host": True},
        max_restarts=0,
        local_addr="127.0.0.1",
        logs_specs=DefaultLogsSpecs(log_dir=folder, redirects=silent),
    )
    # older versions of torch do not have these two, and go without
    config.signals_to_handle = ",".join(number.name for number in handled_signals())
    config.shutdown_timeout = SHUTDOWN_SECONDS
    return config


@contextmanager
def _safe_imports() -> Iterator[None]:
    """Keep Python from importing out of the current folder in the processes that it starts."""
    before = os.environ.get(SAFE_PATH_VARIABLE)
    os.environ[SAFE_PATH_VARIABLE] = "1"
    try:
        yield
    finally:
        os.environ.pop(SAFE_PATH_VARIABLE)
        if before is not None:
            os.environ[SAFE_PATH_VARIABLE] = before


@contextmanager
def _signals_restored() -> Iterator[None]:
    """Put back the handlers of signals, and leave no process behind."""
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in handled_signals() if main}
    others, silenced = multiprocessing.active_children(), logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # torch logs errors that it raises
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


def _cause(error: ChildFailedError) -> BaseException:
    """Return why the first failed process ended; a bug keeps its traceback."""
    failure: ProcessFailure = error.get_first_failure()[1]
    left = _pickle_of_error(failure.error_file)
    if left.is_file():
        known: UserError = pickle.loads(left.read_bytes())  # noqa: S301 our own process wrote it
        return known
    if failure.exitcode > 128:
        return exit_for(failure.exitcode - 128)
    if failure.exitcode < 0:
        return UserError(
            f"process {failure.local_rank} of the training ended with status {failure.exitcode}",
            f"continue from the last checkpoint with {flag('resume')}; if it ran out of memory, "
            "start again "
            f"with a lower {flag('batch_size')} or {flag('chunk_size')}",
        )
    return error


def _pickle_of_error(place: str) -> Path:
    return Path(place).with_suffix(".pickle")


def _process(call: Callable[[], Any], count: int, spelled: Surface) -> Any:
    """Run one process from start to end."""
    os.setsid()  # Ctrl-C reaches only the launcher, which passes it on
    for number in handled_signals():  # before the first step there is nothing to save
        signal.signal(number, signal.SIG_DFL)
    launcher = multiprocessing.parent_process()
    if launcher is None or not launcher.is_alive():  # torch asks for a signal from here on only
        sys.exit(1)
    try:
        with use_surface(spelled):
            result = join(call)
        for number in handled_signals():  # torch waits now, until the launcher has the result
            signal.signal(number, signal.SIG_DFL)
        if not launcher.is_alive():  # its end was reported while the model was written
            sys.exit(1)
        return result
    except KeyboardInterrupt:  # torch would take it for success
        sys.exit(128 + signal.SIGINT)
    except UserError as error:
        _pickle_of_error(os.environ[ERROR_FILE_VARIABLE]).write_bytes(pickle.dumps(error))
        raise


def join(call: Callable[[], Any]) -> Any:
    """Run `call()` as one of all processes of a launcher, until all are done.

    Errors: `UserError` where an exchange with another process fails, as it has ended.
    """
    count = int(os.environ["LOCAL_WORLD_SIZE"])
    check_gpus(count)
    if count > 1:
        limit_threads(max(1, torch.get_num_threads() // count))
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if sys.platform == "linux" and os.environ["MASTER_ADDR"].startswith(LOOPBACK_PREFIXES):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one machine, whatever its name
    try:
        distributed.init_process_group(**group_options())
        result = call()
        distributed.barrier()
        distributed.destroy_process_group()
        return result
    except RuntimeError as error:
        if not _is_exchange_failure(error):
            raise
        time.sleep(GRACE_SECONDS)
        raise UserError(
            "another process of the training ended, and with it the training",
            f"see its error, and go on with {flag('resume')}",
        ) from error


def group_options() -> dict[str, Any]:
    """Return how processes exchange numbers.

    Gloo sees at once that another process has ended; NCCL only waits until the time is over.
    """
    if not torch.cuda.is_available():
        return {"backend": "gloo", "timeout": timedelta(hours=2)}
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    # gloo adds up numbers of the CPU
    return {"backend": "cpu:gloo,cuda:nccl", "timeout": timedelta(minutes=10), "device_id": device}


def _is_exchange_failure(error: BaseException) -> bool:
    """Return whether an exchange between processes failed: then another one has ended."""
    if isinstance(error, distributed.DistError):
        return "ncclInvalidUsage" not in str(error)  # as where two processes have one GPU
    innermost = traceback.extract_tb(error.__traceback__)[-1].filename
    return Path(innermost).is_relative_to(Path(distributed.__file__).parent)
