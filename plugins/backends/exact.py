"""Exact search over files: every document is compared, and ties always break the same way."""

from __future__ import annotations

from collections.abc import Sequence

from structkit import plugin
from structkit.errors import UserError
from structkit.searching.exact import Exact
from structkit.searching.hits import SearchOptions, read_corpus


class Backend(plugin.Backend):
    """Compares every document."""

    def opened(self, corpus: Sequence[str], options: SearchOptions) -> Exact:
        """The corpus in JSONL or .npy files. Errors: `UserError` with file and line."""
        if options.save_index or options.recall_sample or options.parameters:
            raise UserError(
                "--save-index, --recall-sample and --parameters go with an approximate index",
                "use --index hnsw, for example",
                status=2,
            )
        return Exact(read_corpus(corpus, options), options)
