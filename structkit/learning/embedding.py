"""Texts to embeddings, fast: each text once, in batches of texts that are about equally long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy
import torch
from numpy.typing import NDArray

from structkit.learning.encoder import Encoder

Embeddings = NDArray[numpy.float32]


class Embedder:
    """An encoder in inference, with at most `batch_tokens` padded tokens in a batch."""

    def __init__(self, encoder: Encoder, side: str, batch_tokens: int, *, bf16: bool) -> None:
        self.encoder, self.side, self.batch_tokens, self.bf16 = encoder, side, batch_tokens, bf16

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of some texts in their order, (texts, dim)."""
        places: dict[str, int] = {}
        for text in texts:
            places.setdefault(text, len(places))
        ids = self.encoder.tokenizing.ids(list(places), self.side)
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]), reverse=True)
        found: Embeddings | None = None
        for batch in budgeted([len(ids[place]) for place in order], self.batch_tokens):
            chosen = [order[rank] for rank in batch]
            part = self._embed([ids[place] for place in chosen])  # (batch, dim)
            if found is None:
                found = numpy.empty((len(ids), part.shape[1]), numpy.float32)
            found[chosen] = part
        assert found is not None
        return found[[places[text] for text in texts]]  # (texts, dim)

    def _embed(self, ids: list[list[int]]) -> Embeddings:
        encoder = self.encoder
        tokens = encoder.tokenizing.pad(ids).to(encoder.device)
        bf16 = torch.autocast(encoder.device.type, torch.bfloat16, enabled=self.bf16)
        with torch.inference_mode(), bf16:
            found: Embeddings = encoder.embed(tokens).float().cpu().numpy()
        return found


def budgeted(lengths: Sequence[int], budget: int) -> Iterator[range]:
    """Cut falling lengths into runs whose padded size fits the budget, at least one each.

    >>> list(budgeted([5, 4, 2, 2], 8))
    [range(0, 1), range(1, 3), range(3, 4)]
    """
    start = 0
    while start < len(lengths):
        end = start + max(1, budget // max(1, lengths[start]))
        yield range(start, min(end, len(lengths)))
        start = end
