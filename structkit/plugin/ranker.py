"""What a file of rankers/ provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from structkit.embeddings.vectors import Floats
    from structkit.ranking.candidates import Candidate, Query


@dataclass(frozen=True)
class Ranker(ABC):
    """A file of rankers/: one signal of how well a hit answers.

    Its flags are those of `rerank`: embeddings, query_embeddings.
    """

    weight: ClassVar[float] = 0.2
    """Its weight where none is given; the search's own scores are 0 … 1."""

    @abstractmethod
    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """A score for each hit of a query, (hits,): 0 … 1, or below 0 to demote it."""
