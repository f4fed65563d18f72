"""The device on which a model computes, and the fastest precision there that loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor

from structkit import machine
from structkit.errors import UserError, flag

CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # x86, x86, Arm
HARMLESS = 1e-5  # of the largest number of a product
Timed = TypeVar("Timed")


def chosen_device(name: str | None) -> torch.device:
    """The device of that name, or the fastest one available.

    Errors: `UserError` where it cannot be used.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        problem = f"{flag('device', name)} cannot be used: {reason}"
        raise UserError(problem, f"use {flag('device', 'cpu')}", status=2) from None
    return device


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a computation's lack of memory into an error with a remedy."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        said = str(error)
        # on a CPU torch has no exception of its own for this
        if not isinstance(error, MemoryError) and "memory" not in said.partition("\n")[0]:
            raise
        raise UserError(
            "there is not enough memory",
            f"lower {flag('batch_size')}, the lengths or the sizes of the model, or set "
            f"{flag('chunk_size')}",
        ) from None


def has_bf16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 in hardware, so that it is faster than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # oneDNN also claims bfloat16 where it only emulates it, slower than float32; an older torch
    # has no such list
    able: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and any(able.get(name) for name in CPU_BF16)


def fastest_matmul() -> str:
    """The fastest matmul precision with a harmless error: `highest` is MKL, `medium` oneDNN.

    No clock decides it, so that equal runs have equal bits: where MKL is as fast as it can be,
    oneDNN gains nothing, and where MKL has its slow code, all but small products gain.
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


def timed(compute: Callable[[], Timed]) -> tuple[float, Timed]:
    """The least CPU seconds of several runs, and the result; other processes do not count."""
    seconds, result = float("inf"), compute()
    for _ in range(5):
        start = time.process_time()
        result = compute()
        seconds = min(seconds, time.process_time() - start)
    return seconds, result
