"""Exact search over files: every document is compared, and ties always break the same way."""

from __future__ import annotations

from collections.abc import Sequence

from structkit import plugin
from structkit.errors import UserError, flag
from structkit.searching.exact import Exact
from structkit.searching.hits import read_corpus
from structkit.searching.options import SearchOptions


class Backend(plugin.Backend):
    """Compares every document."""

    def opened(self, corpus: Sequence[str], options: SearchOptions) -> Exact:
        """The corpus in JSONL or .npy files. Errors: `UserError` with file and line."""
        if options.save_index or options.parameters:
            given = flag("save_index" if options.save_index else "parameters")
            remedy = f"use {flag('index', 'hnsw')}, for example"
            raise UserError(f"{given} goes with an approximate index", remedy, status=2)
        return Exact(read_corpus(corpus, options), options)
