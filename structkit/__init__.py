"""Composable command-line tools for structured text: mask, vary, parse, train, encode, search.

In Python every command is a function of the same name and settings, `from structkit import search`;
they raise `UserError` for what the user can fix. `load` keeps a model in memory.
"""

import os
import signal
import sys

if os.path.basename(sys.argv[0]) == "structkit" or sys.orig_argv[1:3] == ["-m", "structkit"]:
    # of the program, not of its importers: Ctrl-C before `structkit.cli.main` handles it
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # `&` ignores it
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))

from importlib import import_module
from typing import Any

from structkit.command import COMMANDS
from structkit.version import __version__ as __version__

MODULE_OF_NAME = {
    "UserError": "structkit.errors",
    "load": "structkit.api.models",
    "LoadedModel": "structkit.api.models",
}
__all__ = [*MODULE_OF_NAME, *(name.replace("-", "_") for name in COMMANDS)]


def __getattr__(name: str) -> Any:
    """Return a function of the Python interface, made from its command on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'structkit' has no attribute {name!r}")
    if name in MODULE_OF_NAME:
        return getattr(import_module(MODULE_OF_NAME[name]), name)
    return globals().setdefault(name, import_module("structkit.api.functions").function_of(name))


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *__all__])
