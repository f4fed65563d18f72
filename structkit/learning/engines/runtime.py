"""What a runtime of exported encoders is, and how many threads it takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from structkit.records.workers.pool import cores

# token ids and their mask, (batch, length) each, to embeddings, (batch, dim)
Compute = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
# texts to token ids
Read = Callable[[Sequence[str]], list[list[int]]]


class Runtime(Protocol):
    """A library that computes a graph.

    `package` is what it needs, `extra` what installs it, `agreement` the least cosine at which an
    embedding counts as the same as torch's in float32.
    """

    @property
    def name(self) -> str: ...
    @property
    def package(self) -> str: ...
    @property
    def extra(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def agreement(self) -> float: ...

    def version(self) -> str:
        """The version of the library: what one has written may not suit another.

        Errors: the extra is not installed.
        """
        ...

    def write(self, graph: Path, place: Path, read: Read) -> None:
        """Write what it computes of an ONNX graph into a folder."""
        ...

    def opened(self, place: Path) -> Compute:
        """What it has written, ready to compute."""
        ...


def threads() -> int:
    """How many threads compute: OMP_NUM_THREADS, or as many as there are processors."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else cores()
