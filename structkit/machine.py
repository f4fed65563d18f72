"""The machine: where the user's files are, and whether equal runs of torch give equal bits.

Folders follow the XDG Base Directory Specification. Intel's MKL multiplies matrices for torch, and
promises equal bits on Intel processors. On others two equal products may differ in their last bits,
unless its slower code is used, which is the same everywhere.
"""

from __future__ import annotations

import os
import pwd
import re
import sys
from contextlib import suppress
from pathlib import Path

MODE, SAME_EVERYWHERE = "MKL_CBWR", "COMPATIBLE"
CPUINFO = "/proc/cpuinfo"
REPEATABLE = ("", "GenuineIntel")  # no name: not an x86 processor, and so no MKL


def cache_folder(*names: str) -> Path:
    """Return a folder of structkit for what can be made again."""
    return _folder("XDG_CACHE_HOME", Path(".cache"), names)


def data_folder(*names: str) -> Path:
    """Return a folder of structkit for what the user keeps."""
    return _folder("XDG_DATA_HOME", Path(".local", "share"), names)


def _folder(variable: str, usual: Path, names: tuple[str, ...]) -> Path:
    given = os.environ.get(variable, "")
    # the specification ignores a path that is not absolute
    base = Path(given) if os.path.isabs(given) else home() / usual
    return base.joinpath("structkit", *names)


def home() -> Path:
    """Return the user's home folder, or a place that holds nothing.

    An empty HOME, as some services and `env HOME=` set it, does not name the folder `/`.
    """
    given = os.environ.get("HOME", "")
    if not os.path.isabs(given):
        with suppress(KeyError):  # a user that the system does not know
            given = pwd.getpwuid(os.getuid()).pw_dir
    return Path(given if os.path.isabs(given) else os.devnull)


def ignore_relative_folders() -> None:
    """Remove relative folders from the user's variables, for libraries that write files.

    Otherwise they keep them in `/`, or wherever the program is started.
    """
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        if not os.path.isabs(os.environ.get(name, "/")):
            del os.environ[name]


def move_torch_cache() -> None:
    """Let torch keep what it compiles in the user's cache, not in a temporary folder.

    Torch makes the folder when it is imported; if it cannot, torch's own default stays.
    """
    folder = cache_folder("torch")
    there = next(each for each in folder.parents if os.path.exists(each))
    if os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK):
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


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
