"""IORNN, a baseline of StrAE: inside-outside recursion, where a node knows its sibling.

Records: `tree`, a binary tree in brackets (`structkit parse-trees`).
Sources: Le and Zuidema 2014, "The Inside-Outside Recursive Neural Network model for Dependency
Parsing" (https://aclanthology.org/D14-1081); Opper et al. 2023, StrAE, section 4.
"""

from __future__ import annotations

from typing import Any

from structkit.learning.strae.settings import GivenTrees, NodeSettings
from structkit.settings import settings_class


@settings_class
class Method(NodeSettings, GivenTrees):
    """Settings of IORNN, StrAE's own (appendix A); without channels."""

    example = "structkit train iornn trees.jsonl -o models/iornn"

    def make_model(self, words: int) -> Any:
        from ._tree_models import IORNN

        return IORNN(words, self)
