"""Texts to embeddings by a table of token vectors, with nothing but a tokenizer and NumPy."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError
from structkit.learning.folders.damage import damaged
from structkit.learning.folders.facts import FACTS, has_facts, own_facts, plain_facts, read_facts
from structkit.learning.static.table import Table, is_table, normalizes
from structkit.learning.training.settings import ANY_LENGTH
from structkit.learning.training.tokens import Chunk, Model, Truncation, beginning
from structkit.records.jsonl import Record

SLICE = 1 << 17  # characters that are tokenized together: their tokens take 100 times as much
MEAN = "mean"  # the pooling of a table


class StaticEncoder(Model):
    """A table that encodes, with the prompts, lengths and normalization of a model's facts."""

    parts = ("chunk",)

    def __init__(self, table: Table, facts: Record) -> None:
        self.table = table
        self.normalize = bool(facts["normalize"])
        self.prompts: dict[str, str] = facts.get("prompts") or {}
        self.lengths: dict[str, int] = facts["lengths"]
        self.truncation = Truncation()

    def inputs(self, texts: Sequence[str], side: str) -> list[array[int]]:
        """Texts as token ids; longer ones are truncated and counted."""
        most = self.lengths[side]
        prompt = self.prompts.get(side, "")
        whole = [prompt + text for text in texts] if prompt else list(texts)
        ids_of = self._ids([beginning(text, most) for text in whole])
        again = [
            place
            for place, text in enumerate(whole)
            if len(ids_of[place]) <= most and len(beginning(text, most)) < len(text)
        ]
        for place, ids in zip(again, self._ids([whole[place] for place in again]), strict=True):
            ids_of[place] = ids
        self.truncation.count(side, len(texts), sum(len(ids) > most for ids in ids_of))
        return [ids[:most] for ids in ids_of]

    def read_at_most(self, side: str, length: int) -> None:
        """Cut texts of a side to so many tokens."""
        self.lengths = {**self.lengths, side: length}

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """A text as chunks of at most `size` tokens; a text without tokens is one chunk."""
        (prompt,) = self._ids([self.prompts.get(side, "")])
        encoded = self.table.tokenizer.encode(text, add_special_tokens=False)
        self.truncation.count(side, 1)
        chunks = []
        for start in range(0, max(1, len(encoded.ids)), size):
            places = encoded.offsets[start : start + size] or [(0, 0)]
            ids = [*prompt, *encoded.ids[start : start + size]]
            chunks.append(Chunk(ids, places[0][0], places[-1][1]))
        return chunks

    def embed(self, inputs: Sequence[array[int] | Chunk]) -> Vectors:
        """One embedding per input, (inputs, dim)."""
        means = self.table.means([each.ids if isinstance(each, Chunk) else each for each in inputs])
        return normalized(means) if self.normalize else means

    def _ids(self, texts: list[str]) -> list[array[int]]:
        found: list[array[int]] = []
        for some in _slices(texts):
            encoded = self.table.tokenizer.encode_batch_fast(some, add_special_tokens=False)
            found += [array("I", each.ids) for each in encoded]
        return found


def _slices(texts: list[str]) -> Iterator[list[str]]:
    """Texts of about `SLICE` characters at a time."""
    some, characters = list[str](), 0
    for text in texts:
        some.append(text)
        characters += len(text)
        if characters >= SLICE:
            yield some
            some, characters = [], 0
    if some:
        yield some


def opened_table(folder: Path, changes: Record) -> tuple[StaticEncoder, Record] | None:
    """The table in a model folder and its facts, overridden by `changes`; None if it holds none.

    Errors: `UserError` for a pooling that is not the mean.
    """
    ours = has_facts(folder)
    own = read_facts(folder) if ours else own_facts(folder, pooling=changes.get("pooling"))
    place = own.get("transformer", folder)
    if not is_table(place):
        return None
    if not ours:
        plain = plain_facts(MEAN) | {"lengths": ANY_LENGTH, "normalize": normalizes(place)}
        own = plain | own
    if own["pooling"] != MEAN:
        problem = f'field "pooling" is {own["pooling"]}, not the {MEAN} of a table'
        raise damaged(problem, folder / FACTS)
    facts = own | changes
    if facts["pooling"] != MEAN:
        raise UserError(
            f"{folder} is a table of token vectors, which has no pooling {facts['pooling']}",
            "leave --pooling out",
            status=2,
        )
    return StaticEncoder(Table.read(place), facts), facts | {"folder": folder}


def static_word_vectors(folder: Path, words: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
    """The vectors of words in a table's folder (words, dim), and which of them it has, (words,).

    A word's vector is the mean of its tokens'; a word without a known token has none. Errors: a
    folder without a table, or without any of the words.
    """
    opened = opened_table(folder, {})
    if opened is None:
        raise UserError(
            "holds no table of token vectors",
            "name a folder that structkit train static wrote, or a file of word vectors",
        ).at(str(folder))
    table = opened[0].table
    encoded = table.tokenizer.encode_batch_fast(list(words), add_special_tokens=False)
    unknown = getattr(table.tokenizer.model, "unk_token", None)
    strange = None if unknown is None else table.tokenizer.token_to_id(unknown)
    ids_of = [[number for number in each.ids if number != strange] for each in encoded]
    known = np.array([bool(ids) for ids in ids_of])
    if not known.any():
        raise UserError("has none of the words of the records", "train a table on them").at(
            str(folder)
        )
    return table.means(ids_of), known


def normalized(embeddings: Vectors) -> Vectors:
    """Embeddings (texts, dim) of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    scaled: Vectors = embeddings / np.maximum(lengths, 1e-12)
    return scaled
