"""Self-StrAE with a second objective and more channels, as released for SemEval-2024.

Half the loss is contrastive, over phrases; half is cross-entropy, over words. Records: `text`, or a
`tree` whose leaves are the words. With as many channels as dimensions, `--channels 256`, seven
parameters compose and decompose: the variant of SemEval-2024. Source: Opper and Siddharth 2024,
"Self-StrAE at SemEval-2024 Task 1" (https://arxiv.org/abs/2404.01860), and its code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structkit.learning.strae.settings import StraeSettings
from structkit.plugin import setting

CODE = "its code"


@dataclass(frozen=True)
class Method(StraeSettings):
    """Settings of the released code."""

    example: ClassVar[str] = (
        "structkit train self-strae-plus --on-error skip sentences.jsonl -o models/self-strae-plus"
    )
    induce: ClassVar[bool] = True

    embedding_size: int = setting(256, "dimensions of an embedding", CODE)
    channels: int = setting(16, "rows of an embedding; composition sees one at a time", CODE)
    objective: str = setting(
        "both",
        "ce: cross-entropy of the leaves, contrastive over all nodes, or both: the mean of ce "
        "and contrastive over inner nodes",
        "arXiv 2404.01860",
        ("both", "contrastive", "ce"),
    )
    temperature_form: str = setting(
        "exp", "cosine · exp(temperature), or cosine / temperature", CODE, ("exp", "divide")
    )
    head: str = setting(
        "untied",
        "table with which ce scores words: a separate one with a bias, or the embeddings",
        CODE,
        ("untied", "tied"),
    )
    mean: str = setting(
        "token", "ce is a mean per token of the batch, or per sentence", CODE, ("token", "sentence")
    )
    max_grad_norm: float = setting(1.0, "scale gradients down to this norm; 0: never", CODE)
    min_length: int = setting(4, "least words of a record: fewer are an error", CODE)
    max_length: int | None = setting(200, "most words of a record: more are an error", CODE)
