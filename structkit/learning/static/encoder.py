"""Texts to embeddings by a table of token vectors, with nothing but a tokenizer and NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structkit.learning.static.table import Rows, Table
from structkit.learning.training.tokens import Chunk, Truncation, beginning
from structkit.records.jsonl import Record


class StaticEncoder:
    """A table that encodes: prompts, lengths and normalization are those of a model's facts."""

    def __init__(self, table: Table, facts: Record) -> None:
        self.table = table
        self.normalize = bool(facts["normalize"])
        self.prompts: dict[str, str] = facts.get("prompts") or {}
        self.lengths: dict[str, int] = facts["lengths"]
        self.truncation = Truncation()

    def inputs(self, texts: Sequence[str], side: str) -> list[list[int]]:
        """Texts as token ids; longer ones are cut and counted."""
        most = self.lengths[side]
        prompt = self.prompts.get(side, "")
        whole = [prompt + text for text in texts] if prompt else list(texts)
        found = self._ids([beginning(text, most) for text in whole])
        again = [
            place
            for place, text in enumerate(whole)
            if len(found[place]) <= most and len(beginning(text, most)) < len(text)
        ]
        for place, ids in zip(again, self._ids([whole[place] for place in again]), strict=True):
            found[place] = ids
        self.truncation.count(side, len(texts), sum(len(ids) > most for ids in found))
        return [ids[:most] for ids in found]

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """A text as chunks of at most `size` tokens; a text without tokens is one chunk."""
        (prompt,) = self._ids([self.prompts.get(side, "")])
        encoded = self.table.tokenizer.encode(text, add_special_tokens=False)
        self.truncation.count(side, 1)
        chunks = []
        for start in range(0, max(1, len(encoded.ids)), size):
            places = encoded.offsets[start : start + size] or [(0, 0)]
            ids = prompt + encoded.ids[start : start + size]
            chunks.append(Chunk(ids, places[0][0], places[-1][1]))
        return chunks

    def embed(self, inputs: Sequence[list[int] | Chunk]) -> Rows:
        """One embedding an input, (inputs, dim)."""
        found = self.table.means([each.ids if isinstance(each, Chunk) else each for each in inputs])
        return normalized(found) if self.normalize else found

    def _ids(self, texts: list[str]) -> list[list[int]]:
        encoded = self.table.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [each.ids for each in encoded]


def normalized(embeddings: Rows) -> Rows:
    """Embeddings (texts, dim) of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    scaled: Rows = embeddings / np.maximum(lengths, 1e-12)
    return scaled
