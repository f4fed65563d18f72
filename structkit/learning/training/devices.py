"""The device on which a model computes, and the fastest precision there that loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor

from structkit.errors import UserError

WORTHWHILE = 0.9  # of the exact product's time
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
        raise UserError(
            f"--device {name} cannot be used: {reason}", "use --device cpu", status=2
        ) from None
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
            "lower --batch-size, the lengths or the sizes of the model, or set --chunk-size",
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
    """The fastest matmul precision with a harmless error: `highest` or `medium`.

    It is measured on products of the size that small encoders compute.
    """
    if not has_bf16(torch.device("cpu")):
        return "highest"  # a single product may look faster there, a training step is slower
    before = torch.get_float32_matmul_precision()
    generator = torch.Generator().manual_seed(0)
    left = torch.randn(1024, 384, generator=generator)
    right = torch.randn(1536, 384, generator=generator)
    try:
        timings: dict[str, tuple[float, Tensor]] = {}
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            timings[precision] = timed(lambda: torch.nn.functional.linear(left, right))
    finally:
        torch.set_float32_matmul_precision(before)
    (exact_time, exact), (time_, product) = timings["highest"], timings["medium"]
    error = float((product - exact).abs().max() / exact.abs().max())
    return "medium" if time_ < WORTHWHILE * exact_time and error < HARMLESS else "highest"


def timed(compute: Callable[[], Timed]) -> tuple[float, Timed]:
    """The least CPU seconds of several runs, and the result; other processes do not count."""
    seconds, result = float("inf"), compute()
    for _ in range(5):
        start = time.process_time()
        result = compute()
        seconds = min(seconds, time.process_time() - start)
    return seconds, result
