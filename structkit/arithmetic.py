"""The library that multiplies matrices for torch, and whether equal runs get equal bits of it.

Intel's MKL promises that on its own processors. On others two equal products may differ in their
last bits, but for its slower code that is the same everywhere.
"""

from __future__ import annotations

import os
import re
import sys

MODE, SAME_EVERYWHERE = "MKL_CBWR", "COMPATIBLE"
CPUINFO = "/proc/cpuinfo"
REPEATABLE = ("", "GenuineIntel")  # no name: not an x86 processor, and so no MKL


def maker(cpuinfo: str = CPUINFO) -> str:
    """Who made the x86 processor, as it names itself; empty where that is not known."""
    try:
        with open(cpuinfo, encoding="utf-8") as file:
            found = re.search(r"^vendor_id\s*: *(\S+)", file.read(512), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def settled(cpuinfo: str = CPUINFO) -> str:
    """Let equal runs of torch have equal bits, unless the user has said how MKL computes.

    It is read when torch computes first. Returns why equal runs may differ; empty if they do not.
    """
    if maker(cpuinfo) in REPEATABLE:
        return ""
    if MODE not in os.environ:
        os.environ[MODE] = SAME_EVERYWHERE
        if "torch" in sys.modules:
            return "torch was imported before structkit; import structkit first"
    elif not is_slow():
        return f"{MODE} is {os.environ[MODE]}; leave it unset"
    return ""


def is_slow() -> bool:
    """Whether MKL computes with the code that is the same everywhere."""
    return os.environ.get(MODE, "").upper() == SAME_EVERYWHERE


DIFFERENT = settled()
