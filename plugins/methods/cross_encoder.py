"""A cross-encoder for `rerank`: it reads query and document as one text and gives one score.

    loss = - log( exp(s(q, d+)) / sum over d in {d+} and N of exp(s(q, d)) ), mean over q

N are the query's negatives; a query without any takes positives of other records of its batch.
A score is a sigmoid, 0 … 1. Records: `query`, `positive`, optional `negatives`.
Source: Nogueira and Cho 2019, "Passage Re-ranking with BERT" (arXiv 1901.04085).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from structkit.learning.encoders.settings import TransformerSettings
from structkit.learning.training.data import Spool
from structkit.plugin import setting
from structkit.records.jsonl import Record

if TYPE_CHECKING:
    from ._cross_encoder import CrossEncoderTraining


OTHERS = 4  # documents that a positive is compared with


@dataclass(frozen=True)
class Method(TransformerSettings):
    """Settings of a cross-encoder. From scratch, it is a BERT."""

    example: ClassVar[str] = "structkit train cross-encoder examples.jsonl -o models/cross-encoder"
    usage: ClassVar[str] = (
        "rerank run.jsonl --corpus docs.jsonl --queries queries.jsonl --ranker cross-encoder -m {}"
    )
    shared: ClassVar[bool] = True
    usual_negatives: ClassVar[int] = OTHERS

    negatives_per_query: int | None = setting(
        None,
        source="sentence-transformers",
        inferred=f"{OTHERS}, or fewer if records have fewer",
    )
    chunk_size: int = setting(
        0, "pairs in memory at a time, so that batches of any size fit; 0: the whole batch"
    )
    batch_size: int = setting(16, "queries per step")
    learning_rate: float = setting(2e-5, source="sentence-transformers")

    @property
    def others(self) -> int:
        """How many positives of other records a query without negatives is compared with."""
        return self.negatives_per_query or OTHERS

    def build(self, spool: Spool) -> CrossEncoderTraining:
        from ._cross_encoder import build

        return build(self, spool, others=self.others)

    @classmethod
    def load(cls, folder: Any, metadata: Record) -> Any:
        from structkit.learning.encoders.cross_encoder import load_cross_encoder

        return load_cross_encoder(folder)
