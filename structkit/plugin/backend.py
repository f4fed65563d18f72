"""What a file of backends/ provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from structkit.searching.hits import Searcher
    from structkit.searching.options import SearchOptions


class Backend(ABC):
    """A file of backends/: where embeddings are searched."""

    @abstractmethod
    def opened(self, corpus: Sequence[str], options: SearchOptions) -> Searcher:
        """The corpus in these files, ready to be searched; an option it cannot follow raises."""
