"""RoBERTa, a baseline of StrAE without trees: a small transformer that predicts masked tokens.

Records: `text`, or `tree`, whose leaves are the words.
Sources: Liu et al. 2019, "RoBERTa" (arXiv 1907.11692); Opper et al. 2023, StrAE, section 5 and
appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structkit.learning.strae.settings import PAPER, VocabularySettings
from structkit.plugin import setting

SECTION = "StrAE, section 5"


@dataclass(frozen=True)
class Method(VocabularySettings):
    """Settings of RoBERTa as StrAE's authors trained it, over subwords."""

    example: ClassVar[str] = "structkit train roberta sentences.jsonl -o models/roberta"
    network: ClassVar[str] = "structkit.learning.strae.texts:RoBERTa"
    parts: ClassVar[str] = "heads"

    subwords: bool = setting(True, source=SECTION)
    heads: int = setting(10, "attention heads", SECTION, low=1, high=10_000, group="model")
    layers: int = setting(6, "layers of the transformer", SECTION, low=1, high=1000, group="model")
    inner_size: int = setting(
        3072, "dimensions inside a layer", "from StrAE, table 5", low=1, high=10**6, group="model"
    )
    embedding_dropout: float = setting(0.1, "dropout, in all layers", "RoBERTa")
    epochs: int = setting(100, source=PAPER)
    learning_rate: float = setting(5e-5, "highest learning rate of Adam", PAPER)
    warmup: float = setting(0.1, source=PAPER)
    schedule: str = setting("linear", source=PAPER)
