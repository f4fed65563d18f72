"""Contrastive fine-tuning of one encoder on queries and positives, with in-batch negatives.

Any encoder works (BERT, RoBERTa, T5, …). Records: `query`, `positive`, optional `negatives`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from structkit.jsonl import Record
from structkit.learning.dual_encoder import DualEncoder, check_contrast, negatives_of
from structkit.learning.encoder import Encoder, build_encoder
from structkit.learning.model_folder import load_encoder
from structkit.learning.settings import TrainingSettings
from structkit.learning.spool import Spool


@dataclass(frozen=True)
class Method(TrainingSettings):
    """Settings of plain contrastive training; defaults as in sentence-transformers' examples."""

    def build(self, spool: Spool, *, offline: bool = False) -> DualEncoder:
        negatives = negatives_of(self, spool)
        check_contrast(spool, self, negatives)
        return DualEncoder(self, build_encoder(self, spool, offline=offline), negatives)

    @classmethod
    def load(cls, folder: Path, facts: Record) -> Encoder:
        return load_encoder(folder, facts)
