"""Bi-LSTM, a baseline of StrAE without trees: one LSTM in each direction.

Records: `text`, or `tree`, whose leaves are the words.
Source: Opper et al. 2023, StrAE, section 5 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from structkit.learning.strae.settings import PAPER, TextSettings
from structkit.plugin import setting

if TYPE_CHECKING:
    from structkit.learning.strae.text_models import BiLSTM


@dataclass(frozen=True)
class Method(TextSettings):
    """Settings of the Bi-LSTM; dropout is on the embeddings and on the output layer."""

    example: ClassVar[str] = "structkit train bi-lstm sentences.jsonl -o models/bi-lstm"

    init_range: float = setting(
        0.1, "embeddings start between -r and r", PAPER, low=0.0, high=1e3, group="model"
    )

    def untrained(self, words: int) -> BiLSTM:
        from structkit.learning.strae.text_models import BiLSTM
        from structkit.learning.training.module import seed_parameters

        seed_parameters(self.seed)
        return BiLSTM(words, self.embedding_size, self.init_range)
