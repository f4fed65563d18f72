"""Exact search over files: every document is compared, and ties always break the same way."""

from structkit import plugin
from structkit.searching.exact import Exact
from structkit.searching.hits import EmbeddedCorpus, check_options
from structkit.searching.options import SearchOptions


class Backend(plugin.Backend):
    """Compares every document."""

    def open(self, corpus: EmbeddedCorpus, options: SearchOptions) -> Exact:
        """Open a corpus. Errors: `UserError` with file and line."""
        check_options(options, "exact", "explain", "similarity")
        return Exact(corpus.read(options), options)
