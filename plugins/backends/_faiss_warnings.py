"""The warnings of faiss while it trains, as one line of ours."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from structkit.errors import flag
from structkit.progress import say


@contextmanager
def warnings_told(factory: str) -> Iterator[None]:
    """Say once that faiss warns; what it writes itself, to file descriptor 2, is not passed on."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as warnings:
        os.dup2(warnings.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        warned = warnings.seek(0, os.SEEK_END)
    if warned:
        say(f"few rows to train {factory} on; {flag('index', 'hnsw')} may find more")
