"""What rankers a command uses, how much they count, and what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from structkit.errors import flag
from structkit.settings import setting

if TYPE_CHECKING:
    from structkit.ranking.weights import Weights

RANKERS = "Rankers"


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """Which rankers count how much."""

    ranker: tuple[str, ...] = setting(
        (),
        "A ranker to use; `structkit plugins` lists them. None is used unless named.",
        metavar="NAME[=WEIGHT]",
        complete="ranker",
        group=RANKERS,
    )
    for_: Literal["code"] | None = setting(
        None, "A preset of rankers and weights.", excludes="weights", group=RANKERS
    )
    weights: str | None = setting(
        None, "Weights that rerank --fit wrote.", metavar="FILE", reads=True, group=RANKERS
    )
    group: str | None = setting(
        None,
        "Hits with the same value of it are a group, as by `path`.",
        metavar="FIELD",
        group=RANKERS,
    )
    repeats: float | None = setting(
        None,
        "What a hit counts for each better one of its group; 0 keeps one; default: 0, or that of "
        "the weights.",
        low=0.0,
        high=1.0,
        group=RANKERS,
    )
    embeddings: str | None = setting(
        None,
        "maxsim: embeddings of the documents, .npy or JSONL.",
        metavar="FILE",
        reads=True,
        group=RANKERS,
    )
    query_embeddings: str | None = setting(
        None, "maxsim: embeddings of the queries.", metavar="FILE", reads=True, group=RANKERS
    )

    @property
    def chosen(self) -> Weights:
        """The weights that are named."""
        # a help needs no rankers
        from structkit.ranking.weights import chosen, weight_of

        rankers = dict(map(weight_of, self.ranker))
        return chosen(self.for_, self.weights, rankers, self.group, self.repeats)

    @property
    def ranks(self) -> list[str]:
        """The settings that name rankers or groups, as messages name them."""
        named = ("ranker", "for_", "weights", "group", "repeats")
        return [flag(name) for name in named if getattr(self, name) not in (None, ())]

    @property
    def files(self) -> dict[str, Any]:
        """The files that rankers read, if they are named."""
        named = {"embeddings": self.embeddings, "query_embeddings": self.query_embeddings}
        return {name: path for name, path in named.items() if path is not None}
