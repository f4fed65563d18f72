"""Texts as padded token ids, with a count of what was cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from structkit.errors import UserError


@dataclass(frozen=True)
class Tokens:
    """A batch of token ids and its mask, both (batch, length); the mask is 1 on real tokens."""

    ids: Tensor
    mask: Tensor

    def to(self, device: torch.device) -> Tokens:
        return Tokens(self.ids.to(device), self.mask.to(device))

    def shortened(self, rows: Tensor) -> Tokens:
        """Some rows, only as wide as their longest text."""
        mask = self.mask[rows]
        width = int(mask.sum(1).max())
        return Tokens(self.ids[rows, :width], mask[:, :width])


class Truncation:
    """How many texts of each kind were given, and how many were longer than allowed."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.truncated: Counter[str] = Counter()

    def state(self) -> dict[str, dict[str, int]]:
        return {"texts": dict(self.texts), "truncated": dict(self.truncated)}

    def load(self, state: dict[str, dict[str, int]]) -> None:
        self.texts, self.truncated = Counter(state["texts"]), Counter(state["truncated"])

    def messages(self) -> list[str]:
        """One line for each kind of text of which some were cut."""
        return [
            f"{cut:,} of {self.texts[kind]:,} {kind} texts were longer than --{kind}-length "
            f"and were cut ({cut / self.texts[kind]:.0%})"
            for kind, cut in self.truncated.items()
            if cut
        ]


class Tokenizing:
    """A tokenizer with the most tokens of each kind of text (query, document, target …)."""

    def __init__(self, tokenizer: Any, lengths: dict[str, int]) -> None:
        if not tokenizer.is_fast:
            raise UserError(
                "the model's tokenizer has no tokenizer.json", "convert it with transformers"
            )
        self.tokenizer = tokenizer
        self.lengths = lengths
        self.truncation = Truncation()

    def ids(self, texts: Sequence[str], kind: str) -> list[list[int]]:
        """Token ids without padding; longer texts are cut and counted."""
        encoded = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.lengths[kind],
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        self.truncation.texts[kind] += len(texts)
        self.truncation.truncated[kind] += sum(
            bool(encoding.overflowing) for encoding in encoded.encodings
        )
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def pad(self, ids: Sequence[Sequence[int]]) -> Tokens:
        """Token ids as one batch, as wide as its longest text."""
        width = max(map(len, ids))
        padding = self.tokenizer.pad_token_id
        rows = [[*row, *[padding] * (width - len(row))] for row in ids]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in ids]
        return Tokens(torch.tensor(rows), torch.tensor(mask))  # (batch, length) each

    def batch(self, texts: Sequence[str], kind: str) -> Tokens:
        """Texts as one padded batch, (texts, length)."""
        return self.pad(self.ids(texts, kind))
