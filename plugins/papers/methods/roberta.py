"""RoBERTa, a baseline of StrAE without trees: a small transformer that predicts masked tokens.

Records: `text`, or `tree`, whose leaves are the words.
Sources: Liu et al. 2019, "RoBERTa" (arXiv 1907.11692); Opper et al. 2023, StrAE, section 5 and
appendix A.
"""

from __future__ import annotations

from typing import Any

from structkit.learning.strae.settings import STRAE_APPENDIX, VocabularySettings
from structkit.plugin import setting
from structkit.settings import settings_class


@settings_class
class Method(VocabularySettings):
    """Settings of RoBERTa as StrAE's authors trained it, over subwords."""

    example = "structkit train roberta sentences.jsonl -o models/roberta"
    parts = "heads"
    heads = 10
    layers = 6
    inner_size = 3072  # from the parameters in StrAE, table 5

    subwords: bool = setting(True, source="StrAE, section 5")
    epochs: int = setting(100, source=STRAE_APPENDIX)
    learning_rate: float = setting(5e-5, "peak learning rate of Adam", STRAE_APPENDIX)
    warmup: float = setting(0.1, source=STRAE_APPENDIX)
    schedule: str = setting("linear", source=STRAE_APPENDIX)

    def make_model(self, words: int) -> Any:
        from ._text_models import RoBERTa

        return RoBERTa(words, self)
