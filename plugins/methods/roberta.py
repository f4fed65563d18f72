"""RoBERTa, a baseline of StrAE without trees: a small transformer that predicts masked tokens.

Records: `text`, or `tree`, whose leaves are the words.
Sources: Liu et al. 2019, "RoBERTa" (arXiv 1907.11692); Opper et al. 2023, StrAE, section 5 and
appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from structkit.errors import UserError, flag
from structkit.learning.strae.settings import PAPER, TextSettings
from structkit.plugin import setting

if TYPE_CHECKING:
    from structkit.learning.strae.text_models import RoBERTa

SECTION = "StrAE, section 5"


@dataclass(frozen=True)
class Method(TextSettings):
    """Settings of RoBERTa as StrAE's authors trained it, over subwords."""

    example: ClassVar[str] = "structkit train roberta sentences.jsonl -o models/roberta"
    made_of: ClassVar[tuple[str, ...]] = ("embedding_size", "heads", "layers", "inner_size")

    subwords: bool = setting(True, "byte-pair pieces instead of words", SECTION)
    heads: int = setting(10, "attention heads", SECTION, low=1, high=10_000, group="model")
    layers: int = setting(6, "layers of the transformer", SECTION, low=1, high=1000, group="model")
    inner_size: int = setting(
        3072,
        "dimensions inside a layer",
        "from StrAE, table 5",
        low=1,
        high=1_000_000,
        group="model",
    )
    embedding_dropout: float = setting(0.1, "dropout, in all layers", "RoBERTa")
    epochs: int = setting(100, "passes over the records", PAPER)
    learning_rate: float = setting(5e-5, "highest learning rate of Adam", PAPER)
    warmup: float = setting(0.1, "share of the steps over which the learning rate rises", PAPER)
    schedule: str = setting(
        "linear", "the learning rate after the warm-up", PAPER, ("linear", "constant")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding_size % self.heads:
            raise UserError(
                f"{flag('embedding_size', self.embedding_size)} is not a multiple of "
                f"{flag('heads', self.heads)}",
                "change one of them",
                status=2,
            )

    def untrained(self, words: int) -> RoBERTa:
        from structkit.learning.strae.text_models import RoBERTa
        from structkit.learning.training.module import seed_parameters

        seed_parameters(self.seed)
        return RoBERTa(words, self.embedding_size, self.inner_size, self.heads, self.layers)
