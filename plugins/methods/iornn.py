"""IORNN, a baseline of StrAE: inside-outside recursion, where a node knows its sibling.

Records: `tree`, a binary tree in brackets (`structkit parse-trees`).
Sources: Le and Zuidema 2014, "The Inside-Outside Recursive Neural Network model for Dependency
Parsing" (https://aclanthology.org/D14-1081); Opper et al. 2023, StrAE, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from structkit.learning.strae.baselines import IORNN, new_model
from structkit.learning.strae.methods import StraeSettings
from structkit.plugin import setting


@dataclass(frozen=True)
class Method(StraeSettings):
    """Settings of IORNN, StrAE's own (appendix A); without channels."""

    unused: ClassVar[tuple[str, ...]] = (*StraeSettings.unused, "channels", "composition_init")
    channels: int = setting(1, "")

    def untrained(self, words: int) -> Any:
        """A model with random parameters: the seed's."""
        return new_model(IORNN, self, words)
