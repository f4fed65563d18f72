"""The precision of matrix products: the fastest of the machine that loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

WORTHWHILE = 0.9  # of the exact product's time
CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # x86, x86, Arm
HARMLESS = 1e-5  # of the largest number of a product
Timed = TypeVar("Timed")


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
