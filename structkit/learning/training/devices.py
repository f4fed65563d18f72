"""Devices and processes: the device with its fastest precision, and the processes that share it.

Every process ("rank") embeds its share of a batch; embeddings are exchanged, so that each sees all
negatives, and gradients are added up: the result equals one process's.

Tests: tests/learning/training/test_devices.py, tests/test_machine.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from structkit import machine
from structkit.errors import UserError, flag
from structkit.processes import cores
from structkit.progress import say

CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # x86, x86, Arm
HARMLESS = 1e-5  # of the largest number of a product
ASKED = re.compile(r"[Tt]ried to allocate ([\d.]+ \w+)")


def chosen_device(name: str | None = None) -> torch.device:
    """Return the device of that name, or the fastest one available."""
    if name:
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def check_gpus(count: int) -> None:
    """Raise if there are GPUs, but fewer than processes."""
    if torch.cuda.is_available() and torch.cuda.device_count() < count:
        raise UserError(
            f"{flag('nproc', count)} needs as many GPUs, but there are {torch.cuda.device_count()}",
            "lower it, or hide them: CUDA_VISIBLE_DEVICES=",
            status=2,
        )


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a computation's lack of memory into an error with a remedy.

    Other faults of a device, such as an illegal memory access, are not changed.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        asked = ASKED.search(str(error))
        raise UserError(
            "there is not enough memory" + (f" for {asked[1]} more" if asked else ""),
            f"lower {flag('batch_size')}, the lengths or the sizes of the model, or set "
            f"{flag('chunk_size')}",
        ) from None


def lacks_memory(error: BaseException) -> bool:
    """Return whether torch or Python raised this because memory was too small.

    >>> lacks_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
    False
    """
    # torch has no exception class for this on a CPU
    of_cpu = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return of_cpu or isinstance(error, MemoryError | torch.OutOfMemoryError)


def has_bf16(device: torch.device) -> bool:
    """Return whether bfloat16 is faster than float32, in the device's hardware."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # oneDNN also claims bfloat16 where it only emulates it, slower than float32; an older torch
    # has no such list
    able: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(able.get(name) for name in CPU_BF16)


def fastest_matmul() -> str:
    """Return the fastest harmless matmul precision: `highest` is MKL, `medium` oneDNN.

    Timing never decides, so that equal runs have equal bits: if MKL runs at full speed, oneDNN
    gains nothing; if MKL has its slow code, all but small products gain.
    """
    if not machine.is_slow() or not has_bf16(torch.device("cpu")):
        return "highest"  # without such instructions torch has no oneDNN for float32
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(128, 384, generator=generator)
    right = torch.randn(256, 384, generator=generator)
    exact, product = (_product(left, right, each) for each in ("highest", "medium"))
    error = float((product - exact).abs().max() / exact.abs().max())
    return "medium" if error < HARMLESS else "highest"  # some processors do round to bfloat16


def _product(left: Tensor, right: Tensor, precision: str) -> Tensor:
    with matmul(precision):
        return torch.nn.functional.linear(left, right)


@contextmanager
def matmul(precision: str) -> Iterator[None]:
    """Compute float32 products at a precision of `torch.set_float32_matmul_precision`."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def exact_products(device: torch.device) -> AbstractContextManager[None]:
    """Have a GPU multiply float32 exactly, where elsewhere it may round to TF32."""
    return nullcontext() if device.type == "cpu" else matmul("highest")


T = TypeVar("T")


def rank() -> int:
    """Return the number of this process, 0 if it is the only one."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def ranks() -> int:
    """Return the number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def started_by_torchrun() -> bool:
    """Return whether torchrun started this process, and several may be started."""
    return distributed.is_torchelastic_launched() and not distributed.is_initialized()


def working_processes(count: int, batch: int) -> int:
    """Return how many of `count` processes have a GPU or core, and a record.

    >>> working_processes(1, 32), working_processes(99, 1)
    (1, 1)
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    processes = min(count, batch, gpus or cores())
    if processes < count:
        reason = f"{batch:,} records in a batch, "
        reason += f"{gpus} GPUs" if gpus else f"{cores()} cores"
        say(f"{flag('nproc', count)} becomes {processes}: {reason}")
    return processes


def share(records: int) -> slice:
    """Return this process's adjacent share of a batch's records.

    >>> share(5)
    slice(0, 5, None)
    """
    return slice(records * rank() // ranks(), records * (rank() + 1) // ranks())


def gather_rows(rows: Tensor, first: int, total: int) -> Tensor:
    """Return the rows of all processes, (total, dim); this one's begin at `first`."""
    if ranks() == 1:
        return rows
    # zeros and a sum instead of all_gather: shares may be of unequal size, or empty
    everything = rows.new_zeros(total, rows.shape[1])
    everything[first : first + len(rows)] = rows
    distributed.all_reduce(everything)
    return everything


def total(value: float) -> float:
    """Return the sum of a number over all processes."""
    if ranks() == 1:
        return value
    device = chosen_device() if torch.cuda.is_available() else None  # gloo adds up on the CPU
    numbers = torch.tensor([value], dtype=torch.float64, device=device)
    distributed.all_reduce(numbers)
    return float(numbers.item())


def add_gradients(module: nn.Module) -> None:
    """Replace every gradient by its sum over all processes; a weight without any keeps none."""
    if ranks() == 1:
        return
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    grads = [torch.zeros_like(each) if each.grad is None else each.grad for each in weights]
    has = torch.tensor([weight.grad is not None for weight in weights]).to(grads[0])
    flat = torch.cat([*(grad.flatten() for grad in grads), has])  # one exchange a step
    distributed.all_reduce(flat)
    sizes = [*(weight.numel() for weight in weights), len(weights)]
    *parts, counts = torch.split(flat, sizes)
    for weight, part, count in zip(weights, parts, counts.tolist(), strict=True):
        weight.grad = part.view_as(weight) if count else None


def same_parameters(module: nn.Module) -> None:
    """Give every process the parameters of the first."""
    if ranks() > 1:
        for weight in [*module.parameters(), *module.buffers()]:
            distributed.broadcast(weight.data, 0)


def gather(value: T) -> list[T]:
    """Return the values of all processes, in their order."""
    if ranks() == 1:
        return [value]
    of_ranks: list[Any] = [None] * ranks()
    distributed.all_gather_object(of_ranks, value)
    return of_ranks


def add_counts(counts: Counter[str]) -> Counter[str]:
    """Return the sum of counts over all processes."""
    return sum(gather(counts), Counter())
