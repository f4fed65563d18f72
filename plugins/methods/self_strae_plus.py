"""Self-StrAE with a second objective and more channels, as released for SemEval-2024.

Half the loss is contrastive, over phrases; half is cross-entropy, over words. Records: `text`, or a
`tree` whose leaves are the words. With as many channels as dimensions, `--channels 256`, seven
parameters compose and decompose: the variant of SemEval-2024. Source: Opper and Siddharth 2024,
"Self-StrAE at SemEval-2024 Task 1" (https://arxiv.org/abs/2404.01860), and its code.
"""

from __future__ import annotations

from math import exp

from structkit.learning.strae.channels import ChannelSettings
from structkit.plugin import setting
from structkit.settings import settings_class

CODE = "its code"


@settings_class
class Method(ChannelSettings):
    """Settings of the released code."""

    example = (
        "structkit train self-strae-plus --on-error skip sentences.jsonl -o models/self-strae-plus"
    )
    ce_mean = "token"
    min_words = 4

    embedding_size: int = setting(256, source=CODE)
    channels: int = setting(16, source=CODE)
    objective: str = setting("both", source="arXiv 2404.01860")
    temperature: float = setting(exp(-0.2), source=CODE)  # cosine · exp(0.2)
    head: str = setting("untied", source=CODE)
    max_grad_norm: float = setting(1.0, source=CODE)
    max_length: int | None = setting(200, source=CODE)
