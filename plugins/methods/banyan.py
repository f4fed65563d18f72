"""Banyan: a model that makes its own trees, in which equal spans of a batch are one node.

Records: `text`, or a `tree` whose leaves are the words. Source: Opper and Siddharth 2025, "Banyan:
Improved Representation Learning with Explicit Structure" (https://arxiv.org/abs/2407.17771).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from structkit.learning.strae.settings import ChannelSettings
from structkit.learning.training.spool import Spool
from structkit.plugin import setting

if TYPE_CHECKING:
    from ._banyan import Banyan, BanyanTraining

PAPER = "Banyan, section 4"


@dataclass(frozen=True)
class Method(ChannelSettings):
    """Settings of Banyan: 14 parameters besides those of the words."""

    example: ClassVar[str] = "structkit train banyan sentences.jsonl -o models/banyan"
    induce: ClassVar[bool] = True

    embedding_size: int = setting(256, "dimensions of an embedding", PAPER)
    channels: int = setting(128, "rows of an embedding, which share one composition", PAPER)
    batch_size: int = setting(512, "records in one step", PAPER)
    batch_tokens: int = setting(
        65_536, "most leaves in one pass: a larger batch is entangled in parts"
    )
    embedding_dropout: float = setting(0.1, "dropout on embeddings", PAPER)

    def untrained(self, words: int) -> Banyan:
        from structkit.learning.training.module import seed_parameters

        from ._banyan import Banyan

        seed_parameters(self.seed)
        return Banyan(words, self.embedding_size, self.channels, self.init_range)

    def build(self, spool: Spool, *, offline: bool = False) -> BanyanTraining:
        from ._banyan import BanyanTraining

        vocabulary, sentences = self.corpus(spool)
        model = self.untrained(len(vocabulary)).started(self, vocabulary.words)
        return BanyanTraining(self, model, vocabulary, sentences)
