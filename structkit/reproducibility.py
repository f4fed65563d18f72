"""Reproducibility: randomness keyed by seed and record id, and equal bits from equal runs of torch.

A key gives the same bytes in any order, shard or worker. Intel's MKL multiplies matrices for torch,
and promises equal bits on Intel processors. On others two equal products may differ in their last
bits, unless its slower code is used, which is the same everywhere.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

MODE, SAME_EVERYWHERE = "MKL_CBWR", "COMPATIBLE"
CPUINFO = "/proc/cpuinfo"
REPEATABLE = ("", "GenuineIntel")  # no name: not an x86 processor, and so no MKL


def key(seed: int, *parts: str | int) -> int:
    """Return a 64-bit number that depends only on the seed and every part.

    >>> key(0, "a", "bc") != key(0, "ab", "c")
    True
    """
    from hashlib import blake2b  # 3 ms that `import structkit` need not pay

    text = "\0".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=8).digest(), "big")


def random_for(seed: int, *parts: str | int) -> Random:
    """Return a random generator for one record (and epoch, and purpose).

    >>> random_for(0, "doc-1").random() == random_for(0, "doc-1").random()
    True
    """
    from random import Random  # 2 ms that `import structkit` need not pay

    return Random(key(seed, *parts))


def processor_maker(cpuinfo: str = CPUINFO) -> str:
    """Return the maker of the x86 processor, as it names itself, or ""."""
    try:
        with open(cpuinfo, encoding="utf-8") as file:
            found = re.search(r"^vendor_id\s*: *(\S+)", file.read(512), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def make_repeatable(cpuinfo: str = CPUINFO) -> None:
    """Let equal runs of torch have equal bits, unless the user has said how MKL computes.

    MKL reads the variable when torch first computes.
    """
    if processor_maker(cpuinfo) not in REPEATABLE:
        os.environ.setdefault(MODE, SAME_EVERYWHERE)


def difference(cpuinfo: str = CPUINFO) -> str:
    """Return why equal runs may differ, with the remedy; empty if they do not."""
    if processor_maker(cpuinfo) in REPEATABLE or is_slow():
        return ""
    given = os.environ.get(MODE) or "unset"
    return f"{MODE} is {given}; set it to {SAME_EVERYWHERE} before torch is imported"


def is_slow() -> bool:
    """Return whether MKL computes with the code that is the same everywhere."""
    return os.environ.get(MODE, "").upper() == SAME_EVERYWHERE
