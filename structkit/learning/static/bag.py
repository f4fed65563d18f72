"""A table of token vectors as a torch model, for training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from structkit.embeddings.vectors import Vectors
from structkit.learning.static.table import Table


@dataclass(frozen=True)
class States:
    """What a model of transformers returns: a state for each token, (texts, length, dim)."""

    last_hidden_state: Tensor


class Bag(nn.Module):
    """A table that behaves like a model of transformers: the states of tokens are their vectors.

    Their mean is the text's embedding, as in `Table.means`.
    """

    def __init__(self, rows: Vectors, *, saturating: bool = False) -> None:
        super().__init__()
        self.embedding = _embedding(torch.from_numpy(rows))
        self.saturating = saturating
        self.config = SimpleNamespace(
            hidden_size=rows.shape[1],
            is_encoder_decoder=False,
            is_decoder=False,
            model_type="static",
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> States:
        states: Tensor = self.embedding(input_ids)
        if self.saturating:
            states = states * repetitions(input_ids, attention_mask).rsqrt().unsqueeze(-1)
        return States(states)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def resize_token_embeddings(self, count: int, **options: Any) -> None:
        """Add rows of zeros, which `add_tokens` fills."""
        old = self.embedding.weight.data
        added = old.new_zeros(count - len(old), old.shape[1])
        self.embedding = _embedding(torch.cat([old, added]))

    def table(self, tokenizer: PreTrainedTokenizerFast) -> Table:
        """The table as it is now."""
        rows = self.embedding.weight.detach().float().cpu().numpy()
        return Table(rows, tokenizer.backend_tokenizer, self.saturating)


def _embedding(rows: Tensor) -> nn.Embedding:
    return nn.Embedding(rows.shape[0], rows.shape[1], _weight=rows)


def repetitions(ids: Tensor, mask: Tensor) -> Tensor:
    """How often each token occurs in its text, (texts, length); padding is not counted.

    >>> repetitions(torch.tensor([[5, 7, 5, 0]]), torch.tensor([[1, 1, 1, 0]])).tolist()
    [[2, 1, 2, 1]]
    """
    texts = torch.arange(len(ids), device=ids.device).unsqueeze(1)
    keys = (texts * (ids.max() + 2) + ids + 1) * mask  # (texts, length); 0 is padding
    _, place, counts = torch.unique(keys, return_inverse=True, return_counts=True)
    return torch.where(mask.bool(), counts[place], 1)


def load_bag(folder: Path) -> tuple[Bag, PreTrainedTokenizerFast]:
    """The table in a folder, for training, and its tokenizer as one of transformers."""
    table = Table.read(folder)
    tokenizer = table.tokenizer
    # no special tokens around a text, and none within it
    tokenizer.post_processor = None
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer)  # type: ignore[no-untyped-call]
    return Bag(table.rows, saturating=table.saturating), wrapped
