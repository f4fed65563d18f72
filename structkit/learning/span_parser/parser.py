"""A constituency parser that scores spans: words in, trees out, without torch.

Source of the design: minimal span-based parsing, Stern et al. 2017 (https://aclanthology.org/P17-1076).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from structkit.learning.folders.weights import own_weights, write_weights
from structkit.learning.span_parser.decoding import best_spans, pieces
from structkit.learning.span_parser.features import KINDS, Features, Sizes
from structkit.learning.span_parser.forward import Scores, Weights, shapes
from structkit.structure.trees.brackets import Tree, from_spans

Piece = tuple[int, int, int, Sequence[str]]  # words, text's number, first word, the words
WINDOW = 2048  # texts to sort by length and parse together
BATCH, BATCH_WORDS = 64, 4096  # texts, and words with padding, in one pass of the LSTM


class SpanParser:
    """A trained span parser."""

    def __init__(self, weights: Weights, features: Features) -> None:
        self.scores, self.features = Scores(weights), features

    def trees(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """The tree of each sentence, in order; an inner node is a constituent of two or more words.

        Lazily, a window of sentences at a time; a sentence's tree does not depend on the others.
        """
        waiting = iter(sentences)
        while window := list(islice(waiting, WINDOW)):
            for words, spans in zip(window, self.spans(window), strict=True):
                yield from_spans(words, spans)

    def spans(self, sentences: Sequence[Sequence[str]]) -> list[list[tuple[int, int]]]:
        """The spans of each sentence, without those of one word and the whole.

        A sentence of too many words is parsed in pieces that become spans of their own.
        """
        spans_of: list[list[tuple[int, int]]] = [[] for _ in sentences]
        waiting: list[Piece] = []
        for number, words in enumerate(sentences):
            cut = pieces(words)
            for start, end in cut:
                if len(cut) > 1 and end - start > 1:
                    spans_of[number].append((start, end))
                if end - start > 2:
                    waiting.append((end - start, number, start, words[start:end]))
        waiting.sort(key=lambda part: part[:3])
        while waiting:
            count = max(1, min(BATCH, BATCH_WORDS // waiting[-1][0]))  # the longest first
            self._parse(waiting[: -count - 1 : -1], spans_of)
            del waiting[-count:]
        return spans_of

    def _parse(self, together: Sequence[Piece], spans_of: list[list[tuple[int, int]]]) -> None:
        """Add the spans of some parts, of which the first is the longest."""
        numbers = np.zeros((len(together), len(KINDS), together[0][0] + 2), np.int64)
        for row, (length, _, _, words) in zip(numbers, together, strict=True):
            row[:, : length + 2] = self.features.numbers(words)
        lengths = np.array([length + 2 for length, *_ in together])
        places = self.scores.fenceposts(numbers, lengths)
        for (length, number, offset, _), place in zip(together, places, strict=True):
            spans = best_spans(self.scores.table(place[: length + 1]))
            spans_of[number] += [(start + offset, end + offset) for start, end in spans]

    def save(self, folder: Path) -> None:
        """Write the weights, in 16 bits, and the vocabulary."""
        weights = self.scores.weights.items()
        write_weights(folder, {name: each.astype(np.float16) for name, each in weights})
        self.features.save(folder)

    @classmethod
    def load(cls, folder: Path, sizes: Sizes) -> SpanParser:
        """What `save` wrote. Errors: `UserError` if a file is missing or damaged."""
        features = Features.load(folder)
        return cls(own_weights(folder, shapes(features.sizes(), sizes)), features)
