"""The machine: whether equal runs of torch give equal bits.

Intel's MKL multiplies matrices for torch, and promises equal bits on Intel processors. On others
two equal products may differ in their last bits, unless its slower code is used, which is the same
everywhere.
"""

from __future__ import annotations

import os
import re
import sys

MODE, SAME_EVERYWHERE = "MKL_CBWR", "COMPATIBLE"
CPUINFO = "/proc/cpuinfo"
REPEATABLE = ("", "GenuineIntel")  # no name: not an x86 processor, and so no MKL


def processor_maker(cpuinfo: str = CPUINFO) -> str:
    """Return the maker of the x86 processor, as it names itself, or ""."""
    try:
        with open(cpuinfo, encoding="utf-8") as file:
            found = re.search(r"^vendor_id\s*: *(\S+)", file.read(512), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def make_repeatable(cpuinfo: str = CPUINFO) -> str:
    """Let equal runs of torch have equal bits, unless the user has said how MKL computes.

    It is read when torch computes first. Returns why equal runs may differ; empty if they do not.
    """
    if processor_maker(cpuinfo) in REPEATABLE:
        return ""
    if MODE not in os.environ:
        os.environ[MODE] = SAME_EVERYWHERE
        if "torch" in sys.modules:
            return "torch was imported before structkit; import structkit first"
    elif not is_slow():
        return f"{MODE} is {os.environ[MODE]}; leave it unset"
    return ""


def is_slow() -> bool:
    """Return whether MKL computes with the code that is the same everywhere."""
    return os.environ.get(MODE, "").upper() == SAME_EVERYWHERE


DIFFERENCE = make_repeatable()
