"""The warnings of faiss while it trains, as one line of ours."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from structkit.progress import say


@contextmanager
def warnings_told(factory: str) -> Iterator[None]:
    """Report the first warning of faiss, which itself writes many to file descriptor 2."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as warnings:
        os.dup2(warnings.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        warnings.seek(0)
        first = warnings.readline().decode("utf-8", "replace").strip()
    if first:
        say(f"few rows to train {factory} on; --index hnsw may find more (faiss: {first})")
