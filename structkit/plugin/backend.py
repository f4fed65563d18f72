"""What a file of backends/ gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from structkit.search.hits import Searcher, SearchOptions


class Backend(ABC):
    """A file of backends/: where embeddings are searched."""

    @abstractmethod
    def opened(self, corpus: Sequence[str], options: SearchOptions) -> Searcher:
        """A corpus, given by its files, ready to be searched; what it cannot do it refuses."""
