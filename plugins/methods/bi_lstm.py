"""Bi-LSTM, a baseline of StrAE without trees: one LSTM in each direction.

Records: `text`, or `tree`, whose leaves are the words.
Source: Opper et al. 2023, StrAE, section 5 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from structkit.learning.strae.text_models import BiLSTM
from structkit.learning.strae.text_training import TextSettings
from structkit.seeds import key


@dataclass(frozen=True)
class Method(TextSettings):
    """Settings of the Bi-LSTM; dropout is on the embeddings and on the output layer."""

    unused: ClassVar[tuple[str, ...]] = (*TextSettings.unused, "temperature")

    def untrained(self, words: int) -> BiLSTM:
        torch.manual_seed(key(self.seed, "parameters") >> 1)
        return BiLSTM(words, self.embedding_size, self.init_range)
