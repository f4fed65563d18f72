"""Packages of named extras: imported when needed; a missing one is one clear message."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from structkit.errors import UserError

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
        raise UserError(
            f"this needs the package {error.name}", f"pip install 'structkit[{extra}]'"
        ) from None
