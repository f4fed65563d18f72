"""Tree-LSTM, a baseline of StrAE: memory cells that go up the tree and down again.

Records: `tree`, a binary tree in brackets (`structkit parse-trees`).
Sources: Tai et al. 2015, "Improved Semantic Representations From Tree-Structured Long Short-Term
Memory Networks" (https://aclanthology.org/P15-1150); Opper et al. 2023, StrAE, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from structkit.learning.strae.baselines import TreeLSTM, new_model
from structkit.learning.strae.methods import StraeSettings
from structkit.plugin import setting


@dataclass(frozen=True)
class Method(StraeSettings):
    """Settings of Tree-LSTM, StrAE's own (appendix A); without channels."""

    unused: ClassVar[tuple[str, ...]] = (*StraeSettings.unused, "channels", "composition_init")
    channels: int = setting(1, "")

    def untrained(self, words: int) -> Any:
        """A model with random parameters: the seed's."""
        return new_model(TreeLSTM, self, words)
