"""What a file of rankers/ gives."""

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
    """A file of rankers/: one sign of how well a hit answers.

    Its flags are those of `rerank`: embeddings, query_embeddings.
    """

    weight: ClassVar[float] = 0.2
    """What it counts where no weight is named; the search's own scores are 0 … 1."""

    @abstractmethod
    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """What the hits of a query get, (hits,): 0 … 1, or down to -1 for what is put down."""
