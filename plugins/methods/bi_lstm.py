"""Bi-LSTM, a baseline of StrAE without trees: one LSTM in each direction.

Records: `text`, or `tree`, whose leaves are the words.
Source: Opper et al. 2023, StrAE, section 5 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structkit.learning.strae.settings import PAPER, VocabularySettings
from structkit.plugin import setting


@dataclass(frozen=True)
class Method(VocabularySettings):
    """Settings of the Bi-LSTM; dropout is on the embeddings and on the output layer."""

    example: ClassVar[str] = "structkit train bi-lstm sentences.jsonl -o models/bi-lstm"
    network: ClassVar[str] = "structkit.learning.strae.texts:BiLSTM"

    init_range: float = setting(
        0.1, "embeddings start between -r and r", PAPER, low=0.0, high=1e3, group="model"
    )
