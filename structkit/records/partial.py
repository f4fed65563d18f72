"""Where a file or folder is written until it is complete and gets its name."""

from __future__ import annotations

import glob
import os
import shutil
import stat
from contextlib import suppress


def partial_of(target: str) -> str:
    """The hidden name beside a target for this process; what dead ones left is removed."""
    folder, name = os.path.split(target)
    start = os.path.join(folder, f".{name}.")
    for left in glob.glob(f"{glob.escape(start)}*.partial"):
        number = left[len(start) :].removesuffix(".partial")
        if number.isdecimal() and not _alive(int(number)):
            _remove(left)
    return f"{start}{os.getpid()}.partial"


def keep_mode(partial: str, target: str) -> None:
    """Give what is written the mode of what it replaces; a new file has what umask gives."""
    with suppress(OSError):
        os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))


def _alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs, and is another user's
        return True
    return True


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        os.unlink(path)
