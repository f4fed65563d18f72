"""An embedding for every node of a tree: of words, of phrases, of whole sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from structkit.learning.strae.batches import Sentences, portions
from structkit.records.jsonl import Record


@dataclass(frozen=True)
class Leaves:
    """The words of a text, and how many leaves each of them has: one, or its pieces."""

    words: list[str]
    leaves: list[int]
    pieces: list[str]

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where words begin and end, in leaves, (words + 1,)."""
        return np.cumsum([0, *self.leaves])

    def node(self, start: int, end: int) -> tuple[int, int, str, str]:
        """What stands above leaves `start` to `end`: span in words, text, and its kind.

        A node over a part of a word, which the trees of subwords have, is no word and no phrase:
        its span is that of the words that it touches, its text that of its pieces.

        >>> leaves = Leaves(["The", "cats"], [1, 2], ["the", "cat", "s"])
        >>> leaves.node(0, 3), leaves.node(1, 3), leaves.node(2, 3)
        ((0, 2, 'The cats', 'phrases'), (1, 2, 'cats', 'words'), (1, 2, 's', 'pieces'))
        """
        ends = self.ends
        first = int(np.searchsorted(ends, start, side="right")) - 1
        last = int(np.searchsorted(ends, end))
        if ends[first] != start or ends[last] != end:
            return first, last, "".join(self.pieces[start:end]), "pieces"
        kind = "words" if last - first == 1 else "phrases"
        return first, last, " ".join(self.words[first:last]), kind


def nodes_of(
    model: Any,
    records: Sequence[Record],
    which: str,
    batch_tokens: int,
    *,
    downward: bool = False,
    finish: Callable[[Tensor], Tensor] = lambda vectors: vectors,
) -> Iterator[list[Record]]:
    """The nodes of each text, in its order: `node`, `span`, `text`, `embedding`.

    `records` are what the model's settings prepare of texts.
    Nodes are numbered breadth first from the root, 0; spans are half-open, in words; `embedding`
    is the upward one, and with `downward` there is the other beside it. `which` is words, phrases
    (of two words or more, the whole text among them) or all. `finish` is what is
    done to embeddings (nodes, E) at the end.
    """
    read, sentences = _read(model, records)
    first = 0
    for part in portions(list(sentences), batch_tokens):
        with torch.inference_mode():
            batch, up, down = model.both_ways(part)
        vectors = [finish(each.float()).cpu().numpy() for each in (up, down)[: 1 + downward]]
        starts = batch.start - np.cumsum([0, *batch.lengths[:-1]])[batch.sentence.cpu().numpy()]
        for number, rows in enumerate(_rows(batch.sentence.cpu().numpy(), len(part))):
            spans = [(starts[row], starts[row] + batch.width[row]) for row in rows]
            found = _records(read[first + number], spans, [each[rows] for each in vectors])
            chosen = [record for record, kind in found if which in ("all", kind)]
            model.vocabulary.found.without[which] += not chosen
            yield chosen
        first += len(part)


def _read(model: Any, records: Sequence[Record]) -> tuple[list[Leaves], Sentences]:
    vocabulary = model.vocabulary
    leaves, numbers = [], []
    for record in records:
        ids = vocabulary.ids(record["words"])
        pieces = [vocabulary.text(number) for word in ids for number in word]
        leaves.append(Leaves(list(record["words"]), [len(word) for word in ids], pieces))
        numbers.append(model.settings.numbers(ids, record))
    return leaves, Sentences(numbers)


def _rows(owners: NDArray[np.int64], sentences: int) -> list[NDArray[np.int64]]:
    """The rows of each sentence in a batch, in their order: breadth first."""
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.searchsorted(owners[order], np.arange(1, sentences)))


def _records(
    leaves: Leaves, spans: Sequence[tuple[int, int]], vectors: list[NDArray[np.float32]]
) -> Iterator[tuple[Record, str]]:
    names = ("embedding", "downward")
    for number, (start, end) in enumerate(spans):
        first, last, words, kind = leaves.node(int(start), int(end))
        record: Record = {"node": number, "span": [first, last], "text": words}
        for name, rows in zip(names, vectors, strict=False):
            record[name] = rows[number]
        yield record, kind
