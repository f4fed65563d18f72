"""Several processes that train one model: which records each takes, and what they exchange.

Every process ("rank") embeds its share of a batch; embeddings are exchanged, so that each sees all
negatives, and gradients are added up: the result is that of one process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.process import parent_process
from pathlib import Path
from types import FrameType
from typing import Any, cast

import torch
from torch import Tensor, distributed, nn

from structkit.errors import UserError
from structkit.learning.training.devices import chosen_device
from structkit.progress import say
from structkit.signals import ended_by, heard

PATIENCE = 20.0  # seconds for processes to end when they are done
GRACE = 5.0  # seconds until an error shows that another process is the reason


class Broken(RuntimeError):
    """An error in a process, with its traceback."""


def rank() -> int:
    """The number of this process, 0 if it is the only one."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def ranks() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def share(records: int) -> slice:
    """The records of a batch for this process: adjacent ones, about as many for each process.

    >>> share(5)
    slice(0, 5, None)
    """
    return slice(records * rank() // ranks(), records * (rank() + 1) // ranks())


def whole(rows: Tensor, first: int, total: int) -> Tensor:
    """The rows of all processes, (total, dim), of which this one's begin at `first`."""
    if ranks() == 1:
        return rows
    # zeros and a sum instead of all_gather: shares may be of unequal size, or empty
    everything = rows.new_zeros(total, rows.shape[1])
    everything[first : first + len(rows)] = rows
    distributed.all_reduce(everything)
    return everything


def total(value: float) -> float:
    """The sum of a number over all processes."""
    if ranks() == 1:
        return value
    numbers = torch.tensor([value], dtype=torch.float64, device=_device())
    distributed.all_reduce(numbers)
    return float(numbers.item())


def add_gradients(module: nn.Module) -> None:
    """Replace every gradient by its sum over all processes; a weight without any keeps none."""
    if ranks() == 1:
        return
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    counts = torch.tensor([weight.grad is not None for weight in weights], device=_device()).float()
    distributed.all_reduce(counts)
    used = [weight for weight, count in zip(weights, counts.tolist(), strict=True) if count]
    grads = [torch.zeros_like(each) if each.grad is None else each.grad for each in used]
    flat = torch.cat([grad.flatten() for grad in grads])
    distributed.all_reduce(flat)
    at = 0
    for weight in used:
        weight.grad = flat[at : at + weight.numel()].view_as(weight)
        at += weight.numel()


def same_parameters(module: nn.Module) -> None:
    """Give every process the parameters of the first."""
    if ranks() > 1:
        for weight in [*module.parameters(), *module.buffers()]:
            distributed.broadcast(weight.data, 0)


def merged(counts: Counter[str]) -> Counter[str]:
    """The sum of counts over all processes."""
    if ranks() == 1:
        return counts
    of_ranks: list[Any] = [None] * ranks()
    distributed.all_gather_object(of_ranks, counts)
    return sum(of_ranks, Counter())


def _device() -> torch.device:
    if distributed.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


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


def launch(call: Callable[..., Any], count: int, device: str | None, *arguments: Any) -> Any:
    """Run `call(*arguments, device=…)` in `count` processes; returns what the first returns.

    Errors: the first error of any process, after all have ended. A signal to end is passed on
    once; a second one ends all processes immediately.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory(prefix="structkit-ranks-") as folder:
        return _Group(call, count, device.partition(":")[0], Path(folder), arguments).run()


class _Group:
    """The processes of one run, as their parent sees them."""

    def __init__(
        self, call: Callable[..., Any], count: int, device: str, folder: Path, arguments: Any
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.processes: list[SpawnProcess] = []
        self.signal = 0
        self.results: dict[Connection, int] = {}
        for number in range(count):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(
                target=_rank, args=(number, count, device, folder, sender, call, arguments)
            )
            self.processes.append(process)
            self.results[receiver] = number
            process.start()
            sender.close()

    def run(self) -> Any:
        before = {
            number: signal.signal(number, self._pass_on)
            for number in heard()
            if threading.current_thread() is threading.main_thread()
        }
        try:
            return self._results()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._end()

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self.signal = self.signal or number
        for process in self.processes:
            if process.pid and process.is_alive():
                os.kill(process.pid, signal.SIGTERM)

    def _results(self) -> Any:
        """What rank 0 returns; raises the error that came first, or caused the others."""
        waiting: dict[Any, int] = dict(self.results)
        result, broken = None, None
        while waiting:
            ready = wait(list(waiting), GRACE if broken else None)
            if not ready:
                break
            for receiver in ready:
                number = waiting.pop(receiver)
                good, value = self._received(cast(Connection, receiver), number)
                if not good and isinstance(value, Broken):
                    broken = broken or value  # the end of another process may be the reason
                elif not good:
                    ended = isinstance(value, KeyboardInterrupt | SystemExit)
                    raise ended_by(self.signal) if self.signal and ended else value
                elif number == 0:
                    result = value
        if broken:
            raise broken
        return result

    def _received(self, receiver: Connection, number: int) -> tuple[bool, Any]:
        try:
            good, value = receiver.recv()
            return good, value
        except EOFError:
            if self.signal:  # it came before the process could handle it
                return False, KeyboardInterrupt()
            process = self.processes[number]
            process.join()
            return False, UserError(
                f"process {number} of the training ended with status {process.exitcode}",
                "if it ran out of memory, lower --batch-size or set --chunk-size",
            )

    def _end(self) -> None:
        """Wait for processes that end by themselves, and stop the others."""
        for process in self.processes:
            process.join(PATIENCE if process.exitcode == 0 else 0.5)
            if process.is_alive():
                process.kill()
                process.join()


def _rank(
    number: int,
    count: int,
    device: str,
    folder: Path,
    sender: Connection,
    call: Callable[..., Any],
    arguments: Any,
) -> None:
    """Run one process from start to end."""
    os.setsid()  # Ctrl-C reaches only the parent, which passes it on
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    if number:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 the first process writes for all
    if device == "cuda":
        torch.cuda.set_device(number)
        device = f"cuda:{number}"
    torch.set_num_threads(max(1, torch.get_num_threads() // count))
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one machine, whatever its name
    try:
        distributed.init_process_group(
            "nccl" if device.startswith("cuda") else "gloo",
            init_method=f"file://{folder / 'store'}",
            rank=number,
            world_size=count,
            timeout=timedelta(hours=2),
        )
        sender.send((True, call(*arguments, device=device)))
        distributed.barrier()
        distributed.destroy_process_group()
    except (UserError, KeyboardInterrupt, SystemExit) as error:
        sender.send((False, error))
    except BaseException:
        sender.send((False, Broken(f"in process {number}:\n{traceback.format_exc()}")))


def _die_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
