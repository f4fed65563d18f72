"""The rows of a text: which of its tokens have one, and which tokens are added to a query.

Sources: ColBERT (arXiv 2004.12832), section 3.2; sentence-transformers 6.2,
`multi_vector_encoder/modules`. Tests: tests/learning/encoders/test_rows.py.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from structkit.learning.encoders.poolings import Tokens
from structkit.records.jsonl import Record


class RowTokens:
    """The tokens of a text that have a row.

    A document's `skipped` words have none. With `query_expansion`, the mask token fills up a query
    to its length: it reads the query, which does not read it.
    """

    def __init__(self, tokenizer: Any, metadata: Record) -> None:
        self.skipped: list[str] = metadata.get("skipped") or []
        self.query_expansion = bool(metadata.get("query_expansion"))
        numbers = map(tokenizer.convert_tokens_to_ids, self.skipped)
        unknown = (None, tokenizer.unk_token_id)
        self.numbers = torch.tensor([each for each in numbers if each not in unknown])
        masks = (tokenizer.mask_token_id, tokenizer.eos_token_id)  # a decoder has the latter only
        self.mask = next((each for each in masks if each is not None), 0)

    def metadata(self, part: str) -> Record:
        """Return what makes the same of a tokenizer again."""
        return {"part": part, "skipped": self.skipped, "query_expansion": self.query_expansion}

    def expanded(self, tokens: Tokens, side: str, length: int) -> tuple[Tokens, Tensor]:
        """Return a batch with its queries filled up to `length`, and which tokens have a row.

        The latter is (batch, length). A text without any such token has its first one's.
        """
        ids, real = tokens.ids, tokens.mask.bool()
        if side == "query" and self.query_expansion:
            missing = max(0, length - ids.shape[1])
            ids, real = (functional.pad(each, (0, missing)) for each in (ids, real))
            places = torch.arange(ids.shape[1], device=ids.device)
            added = ~real & (places < length)
            there = real | added
            lengths = there.sum(1).cpu()
            return Tokens(ids.masked_fill(added, self.mask), real.long(), lengths), there
        if side != "query":
            real = real & ~torch.isin(ids, self.numbers.to(ids.device))
        real[:, 0] |= ~real.any(1)
        return tokens, real
