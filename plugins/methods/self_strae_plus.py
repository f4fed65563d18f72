"""Self-StrAE with a second objective and more channels, as released for SemEval-2024.

Contrastive over the phrases and cross-entropy over the words, half each. Records: `text`, or a
`tree` whose leaves are the words. With as many channels as numbers, `--channels 256`, seven
parameters compose and decompose: the variant of SemEval-2024. Source: Opper and Siddharth 2024,
"Self-StrAE at SemEval-2024 Task 1" (https://arxiv.org/abs/2404.01860), and its code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structkit.learning.strae.methods import StraeSettings
from structkit.plugin import setting

CODE = "its code"


@dataclass(frozen=True)
class Method(StraeSettings):
    """Settings of the released code."""

    example: ClassVar[str] = (
        "structkit train self-strae-plus --on-error skip sentences.jsonl -o models/self-strae-plus"
    )
    induce: ClassVar[bool] = True

    embedding_size: int = setting(256, "numbers in an embedding", CODE)
    channels: int = setting(16, "rows of an embedding; composition sees one", CODE)
    objective: str = setting(
        "both",
        "what is learned: both is the mean of cross-entropy of the leaves and contrastive over "
        "inner nodes; contrastive is over all nodes",
        "arXiv 2404.01860",
        ("both", "contrastive", "ce"),
    )
    temperature_form: str = setting(
        "exp", "cosine · exp(temperature), or cosine / temperature", CODE, ("exp", "divide")
    )
    head: str = setting(
        "untied",
        "table that ce scores words with: one of its own with a bias, or the embeddings",
        CODE,
        ("untied", "tied"),
    )
    mean: str = setting(
        "token", "ce is a mean per token of the batch, or per sentence", CODE, ("token", "sentence")
    )
    max_grad_norm: float = setting(1.0, "longer gradients are scaled down to it; 0: never", CODE)
    min_length: int = setting(4, "a record with fewer words is an error", CODE)
    max_length: int | None = setting(200, "a record with more words is an error", CODE)
