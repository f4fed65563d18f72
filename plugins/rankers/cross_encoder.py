"""A model that reads query and hit together: a cross-encoder (--model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.errors import program
from structkit.learning.encoders.cross_encoder import (
    CrossEncoder,
    load_cross_encoder,
    spoiled_scores,
)
from structkit.learning.encoding.encoding import batches_of
from structkit.learning.encoding.torch_engine import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS
from structkit.learning.folders import model_folder
from structkit.learning.training.devices import chosen_device
from structkit.plugin import setting
from structkit.progress import say
from structkit.ranking.reranking import Candidate, Query
from structkit.records.fields import document_text


@dataclass(frozen=True)
class Ranker(plugin.Ranker):
    """The model's own score, after its activation: 0 … 1 where that is a sigmoid.

    Source: Nogueira and Cho 2019, "Passage Re-ranking with BERT" (arXiv 1901.04085).
    """

    model: str = setting(..., remedy=lambda: f"name a folder of {program('train')} cross-encoder")
    document_field: str | None = None
    offline: bool = False

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return the score of each hit; hits of similar lengths are computed together."""
        encoder, cut_before = self.encoder, self.encoder.truncation.truncated["pair"]
        texts = [document_text(hit.record, self.document_field) for hit in hits]
        inputs = encoder.inputs([(query.text, text) for text in texts])
        if not cut_before and (cut := encoder.truncation.truncated["pair"]):
            longer = f"longer than {encoder.length} tokens, and cut"
            say(f"query {query.id} and {cut:,} of its hits are {longer}; others may be, too")
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]), reverse=True)
        budget = CPU_BATCH_TOKENS if encoder.device.type == "cpu" else GPU_BATCH_TOKENS
        scores = np.empty(len(inputs), np.float32)
        for batch in batches_of([len(inputs[place]) for place in order], budget):
            chosen = [order[rank] for rank in batch]
            scores[chosen] = encoder.scores([inputs[place] for place in chosen])
        if not np.isfinite(scores).all():
            raise spoiled_scores(self.model)
        return scores.astype(np.float64)

    @cached_property
    def encoder(self) -> CrossEncoder:
        """The model, on the fastest device."""
        folder = model_folder(self.model, offline=self.offline)
        return load_cross_encoder(folder).to(chosen_device())
