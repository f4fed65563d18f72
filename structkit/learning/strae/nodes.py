"""Trained models over trees: embeddings of texts and of every node, and trees that they induce."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag
from structkit.learning.strae.sentences import Sentence, Sentences, portions, split_words
from structkit.learning.strae.settings import POOLINGS, ROOT, TreeSettings
from structkit.learning.strae.training import NodeModel, VocabularyEncoder
from structkit.records.jsonl import Record
from structkit.structure.trees.tree import Tree, from_depths


class TreeEncoder(VocabularyEncoder):
    """A trained StrAE for `encode` and for trees: a text's embedding is its root's, upward.

    Texts are trees in brackets; where the model induces trees, plain texts too.
    """

    parts = ("nodes",)

    settings: TreeSettings
    model: NodeModel
    pooling: str = ROOT

    def read(self, folder: Path, metadata: Record) -> Self:
        if metadata["pooling"] not in POOLINGS:
            raise UserError(
                f"a tree model has no pooling {metadata['pooling']}",
                f"use {flag('pooling', 'mean')} for the mean of words, or none for the root",
                status=2,
            )
        self.pooling = metadata["pooling"]
        return super().read(folder, metadata)

    def inputs(self, texts: Sequence[str], side: str = "document") -> list[Sentence]:
        """Return texts as numbers; `len()` of one is its number of leaves."""
        return list(self.settings.numbers(self.vocabulary, map(self.prepared, texts)))

    def batch(self, inputs: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return some inputs, as `embed` takes them: trees are laid out there."""
        return inputs

    def embed(self, batch: Sequence[Sentence]) -> Tensor:
        """Return the upward embeddings of the roots, or the means of the leaves, (texts, E)."""
        if self.pooling == "mean":
            ids = torch.from_numpy(np.concatenate([text.ids for text in batch])).to(self.device)
            starts = np.cumsum([0, *(len(text) for text in batch[:-1])])
            offsets = torch.from_numpy(starts).to(ids)
            return functional.embedding_bag(ids, self.model.embedding, offsets, mode="mean")
        return self.model.roots(batch)

    def trees(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """Return the trees that the model induces over words, or over their subwords."""
        settings, vocabulary = self.settings, self.vocabulary
        records = ({"words": settings.kept_words(words)} for words in sentences)
        inputs = settings.numbers(vocabulary, records)
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]))
        trees: dict[int, Tree] = {}
        for some in portions([inputs[place] for place in order], settings.batch_tokens):
            for sentence in self.model.make_trees(some):
                place = order[len(trees)]
                leaves = vocabulary.surfaces(sentences[place])
                # words that were not read are attached to the root
                more = range(len(leaves) - len(sentence))
                depths = [depth + len(more) for depth in sentence.depths.tolist()]
                depths += [len(more) - number for number in more]
                trees[place] = from_depths(leaves, depths)
        return [trees[place] for place in range(len(inputs))]

    def nodes(
        self,
        records: Sequence[Record],
        which: str,
        batch_tokens: int,
        *,
        finish: Callable[[Vectors], Vectors] = lambda vectors: vectors,
    ) -> Iterator[list[Record]]:
        """Yield the nodes of each text, in its order.

        They are numbered breadth first from the root, 0; spans are half-open, in words; phrases
        have two words or more, including the whole text; `embedding` is the upward one.
        """
        for part in portions([self._leaves(record) for record in records], batch_tokens):
            with torch.inference_mode():
                batch, up, _ = self.model.both_ways([leaves.sentence for leaves in part])
            vectors = finish(up.float().cpu().numpy())
            owners = batch.sentence.cpu().numpy()
            starts = batch.start - np.cumsum([0, *batch.lengths[:-1]])[owners]
            order = np.argsort(owners, kind="stable")  # each text's nodes, breadth first
            ends = np.searchsorted(owners[order], np.arange(1, len(part)))
            for leaves, rows in zip(part, np.split(order, ends), strict=True):
                spans = zip(starts[rows].tolist(), batch.width[rows].tolist(), strict=True)
                nodes = [leaves.node(start, start + width) for start, width in spans]
                chosen = [
                    {"node": number, "span": [first, last], "text": text, "embedding": vectors[row]}
                    for number, (row, (first, last, text, kind)) in enumerate(
                        zip(rows, nodes, strict=True)
                    )
                    if which in ("all", kind)
                ]
                self.vocabulary.coverage.without[which] += not chosen
                yield chosen

    def _leaves(self, record: Record) -> Leaves:
        """Return the leaves of a prepared text."""
        ids = self.vocabulary.ids(record["words"])
        pieces = [self.vocabulary.text(number) for word in ids for number in word]
        (sentence,) = Sentences([split_words(ids, record.get("depths", ()))])
        return Leaves(list(record["words"]), [len(word) for word in ids], pieces, sentence)


@dataclass(frozen=True)
class Leaves:
    """Words of a text, and the number of leaves of each: one, or its subwords."""

    words: list[str]
    counts: list[int]
    pieces: list[str]
    sentence: Sentence

    def __len__(self) -> int:
        return len(self.sentence)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where words begin and end, in leaves, (words + 1,)."""
        return np.cumsum([0, *self.counts])

    def node(self, start: int, end: int) -> tuple[int, int, str, str]:
        """Return the node over leaves `start` to `end`: span in words, text, and kind.

        A node over part of a word, in trees of subwords, is neither a word nor a phrase: its span
        covers the words that it touches, its text is its subwords.

        >>> leaves = Leaves(["The", "cats"], [1, 2], ["the", "cat", "s"], None)
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
