"""Banyan: a model that makes its own trees, in which equal spans of a batch are one node.

Records: `text`, or a `tree` whose leaves are the words. Source: Opper and Siddharth 2025, "Banyan:
Improved Representation Learning with Explicit Structure" (https://arxiv.org/abs/2407.17771).
"""

from __future__ import annotations

from typing import Any

from structkit.learning.strae.settings import TreeSettings
from structkit.plugin import setting
from structkit.settings import settings_class

BANYAN_PAPER = "Banyan, section 4"


@settings_class
class Method(TreeSettings):
    """Settings of Banyan: 14 parameters more than the words'."""

    example = "structkit train banyan sentences.jsonl -o models/banyan"
    parts = "channels"

    embedding_size: int = setting(256, source=BANYAN_PAPER)
    channels: int = setting(
        128,
        "channels of an embedding, which share one composition",
        BANYAN_PAPER,
        low=1,
        high=100_000,
        group="model",
    )
    batch_size: int = setting(512, source=BANYAN_PAPER)
    batch_tokens: int = setting(
        65_536,
        "maximum leaves in one pass; a larger batch is split, and only nodes of one part are "
        "shared",
    )

    def make_model(self, words: int) -> Any:
        from ._banyan import Banyan

        return Banyan(words, self)
