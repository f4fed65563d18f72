"""Bi-LSTM, a baseline of StrAE without trees: one LSTM in each direction.

Records: `text`, or `tree`, whose leaves are the words.
Source: Opper et al. 2023, StrAE, section 5 and appendix A.
"""

from __future__ import annotations

from typing import Any

from structkit.learning.strae.settings import VocabularySettings
from structkit.settings import settings_class


@settings_class
class Method(VocabularySettings):
    """Settings of the Bi-LSTM; dropout is on the embeddings and on the output layer."""

    example = "structkit train bi-lstm sentences.jsonl -o models/bi-lstm"

    def make_model(self, words: int) -> Any:
        from ._text_models import BiLSTM

        return BiLSTM(words, self)
