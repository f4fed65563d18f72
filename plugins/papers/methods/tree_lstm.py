"""Tree-LSTM, a baseline of StrAE: memory cells that go up the tree and down again.

Records: `tree`, a binary tree in brackets (`structkit parse-trees`).
Sources: Tai et al. 2015, "Improved Semantic Representations From Tree-Structured Long Short-Term
Memory Networks" (https://aclanthology.org/P15-1150); Opper et al. 2023, StrAE, section 4.
"""

from __future__ import annotations

from typing import Any

from structkit.learning.strae.settings import GivenTrees, NodeSettings
from structkit.settings import settings_class


@settings_class
class Method(NodeSettings, GivenTrees):
    """Settings of Tree-LSTM, StrAE's own (appendix A); without channels."""

    example = "structkit train tree-lstm trees.jsonl -o models/tree-lstm"

    def make_model(self, words: int) -> Any:
        from ._tree_models import TreeLSTM

        return TreeLSTM(words, self)
