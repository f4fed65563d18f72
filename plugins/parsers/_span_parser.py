"""A constituency parser that scores spans: words in, trees out, without torch.

It takes the exact best tree over the scores, and splits texts that are too long for one. Source of
the design: minimal span-based parsing, Stern et al. 2017 (https://aclanthology.org/P17-1076).

Tests: tests/structure/trees/span_parser/test_span_parser.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import IntArray, Vectors
from structkit.learning.folders import WEIGHTS_FILE, damage_error, read_weights
from structkit.processes import one_thread
from structkit.structure import Span
from structkit.structure.trees.tree import Tree, from_spans

from ._span_features import FEATURE_NAMES, Features

Weights = Mapping[str, NDArray[Any]]
Piece = tuple[int, int, int, Sequence[str]]  # words, text's number, first word, the words
# in one pass of the LSTM; words with padding
MAX_BATCH_TEXTS = 64
MAX_BATCH_WORDS = 4096
# sentences are shorter; scores and chart grow with the square of the number of words
MAX_PART_WORDS = 512
# the best places to split first
SPLIT_SIGNS = (
    frozenset((".", "!", "?")),
    frozenset((";", ":", "--", "—", "–")),
    frozenset((",", ")")),
)
MAX_HIDDEN_NUMBERS = 1 << 17  # hidden numbers of spans in memory at once: they stay in the cache


class SpanParser:
    """A trained span parser."""

    def __init__(self, weights: Weights, features: Features) -> None:
        self.scores, self.features = SpanScores(weights), features

    def trees(self, sentences: Sequence[Sequence[str]]) -> Iterator[Tree]:
        """Return the tree of each sentence, with constituents of two or more words.

        All are parsed at once; a sentence's tree does not depend on the others.
        """
        return map(from_spans, sentences, self.spans(sentences))

    def spans(self, sentences: Sequence[Sequence[str]]) -> list[list[Span]]:
        """Return the spans of each sentence, without single words and the whole.

        A sentence of too many words is parsed in parts, each of which becomes a span.
        """
        spans_of: list[list[Span]] = [[] for _ in sentences]
        waiting: list[Piece] = []
        for number, words in enumerate(sentences):
            cut = split_text(words)
            for start, end in cut:
                if len(cut) > 1 and end - start > 1:
                    spans_of[number].append((start, end))
                if end - start > 2:
                    waiting.append((end - start, number, start, words[start:end]))
        waiting.sort(key=lambda part: part[:3])
        # the products are small: with two threads they take as long, and twice the CPU time
        with one_thread() if len(waiting) > MAX_BATCH_TEXTS else nullcontext():
            while waiting:
                longest = waiting[-1][0]
                count = max(1, min(MAX_BATCH_TEXTS, MAX_BATCH_WORDS // longest))
                self._parse(waiting[: -count - 1 : -1], spans_of)
                del waiting[-count:]
        return spans_of

    def _parse(self, together: Sequence[Piece], spans_of: list[list[Span]]) -> None:
        """Add the spans of some parts, of which the first is the longest."""
        numbers = np.zeros((len(together), len(FEATURE_NAMES), together[0][0] + 2), np.int64)
        for row, (length, _, _, words) in zip(numbers, together, strict=True):
            row[:, : length + 2] = self.features.numbers(words)
        lengths = np.array([length + 2 for length, *_ in together])
        places = self.scores.fenceposts(numbers, lengths)
        for (length, number, offset, _), place in zip(together, places, strict=True):
            spans = best_spans(self.scores.table(place[: length + 1]))
            spans_of[number] += [(start + offset, end + offset) for start, end in spans]

    @classmethod
    def load(cls, folder: Path) -> SpanParser:
        """Load the parser in a folder. Errors: `UserError` if a file is missing or damaged."""
        features, weights = Features.load(folder), read_weights(folder)
        try:
            parser = cls(weights, features)
            parser.spans([["a", "small", "house"]])  # whether all fit together
            fits = features.sizes() == [len(table) for table in parser.scores.tables]
        except (KeyError, ValueError, IndexError):
            fits = False
        if not fits:
            raise damage_error("holds the weights of another model", folder / WEIGHTS_FILE)
        return parser


class SpanScores:
    """The scores of all spans of a text, by the weights of a `SpanScorer`."""

    def __init__(self, weights: Weights) -> None:
        self.weights = {name: each.astype(np.float32) for name, each in weights.items()}
        own = self.weights
        self.tables = [own[f"tables.{kind}.weight"] for kind in range(4)]
        layers = sum(name.startswith("forwards.") for name in own) // 4
        self.layers = [
            (_Lstm(own, f"forwards.{layer}."), _Lstm(own, f"backwards.{layer}."))
            for layer in range(layers)
        ]

    def fenceposts(self, numbers: IntArray, lengths: IntArray) -> Vectors:
        """Return the places between words (texts, words + 1, span), as the span layer sees them.

        `numbers` is (texts, 4, words + 2), the longest text first; `lengths` (texts,) is the number
        of words of each, ends included. Values after the end of a text are meaningless.
        """
        columns = [table[numbers[:, kind]] for kind, table in enumerate(self.tables)]
        states = np.concatenate(columns, axis=2).swapaxes(0, 1)  # (words + 2, texts, columns)
        # how many texts have a word at each place
        active = (lengths > np.arange(len(states))[:, None]).sum(1).tolist()
        for ahead, back in self.layers:
            both = ahead.states(states, active), back.states(states, active, turned=True)
            states = np.concatenate(both, axis=2)
        forward, backward = np.split(states, 2, axis=2)
        ends = np.concatenate([forward[:-1], -backward[1:]], axis=2)
        places: Vectors = (ends @ self.weights["project.weight"].T).swapaxes(0, 1)
        return places

    def table(self, places: Vectors) -> Vectors:
        """Return the scores (words + 1, words + 1) of one text, in blocks of rows."""
        count, width = places.shape
        scores = np.zeros((count, count), np.float32)
        rows = max(1, MAX_HIDDEN_NUMBERS // (count * width))
        right = places + self.weights["project.bias"]
        weight, bias = self.weights["score.weight"][0], self.weights["score.bias"]
        for row in range(0, count, rows):
            hidden = right[None, row:] - places[row : row + rows, None]  # (rows, words, span)
            np.maximum(hidden, 0, out=hidden)
            scores[row : row + rows, row:] = hidden @ weight + bias
        return scores


class _Lstm:
    """One layer in one direction.

    A sigmoid is a scaled tanh of half the number: the weights of the three gates are halved, so
    that one tanh serves a whole step.
    """

    def __init__(self, weights: Mapping[str, Vectors], name: str) -> None:
        self.hidden = weights[f"{name}weight_hh_l0"].shape[1]
        half = np.full(4 * self.hidden, 0.5, np.float32)
        half[2 * self.hidden : 3 * self.hidden] = 1  # the cell's input is a tanh itself
        self.inputs = np.ascontiguousarray((weights[f"{name}weight_ih_l0"] * half[:, None]).T)
        self.own = np.ascontiguousarray((weights[f"{name}weight_hh_l0"] * half[:, None]).T)
        self.bias = (weights[f"{name}bias_ih_l0"] + weights[f"{name}bias_hh_l0"]) * half

    def states(self, words: Vectors, active: Sequence[int], *, turned: bool = False) -> Vectors:
        """Return states (words, texts, hidden) after each word (words, texts, columns).

        `active` is the number of texts with a word at each place; `turned` reads from the ends.
        """
        size, steps = self.hidden, range(len(words))
        gates = words @ self.inputs + self.bias  # (words, texts, 4 * hidden)
        after = np.zeros((*words.shape[:2], size), np.float32)
        state, cell = (np.zeros((words.shape[1], size), np.float32) for _ in range(2))
        for step in reversed(steps) if turned else steps:
            texts = active[step]
            # a text that ends here, or begins when read from its end, has zeros until then
            gate = np.tanh(gates[step, :texts] + state[:texts] @ self.own)
            enters, forgets = gate[:, :size] + 1, gate[:, size : 2 * size] + 1
            kept = cell[:texts]
            kept *= forgets
            kept += enters * gate[:, 2 * size : 3 * size]
            kept *= 0.5
            np.multiply((gate[:, 3 * size :] + 1) * 0.5, np.tanh(kept), out=state[:texts])
            after[step, :texts] = state[:texts]
        return after


def best_spans(scores: Vectors) -> list[Span]:
    """Return the nested spans with the largest sum of positive scores, outer ones first.

    `scores` is (n + 1, n + 1), the score of words i to j (half-open) in row i and column j; spans
    of one word and the whole are left out, as every tree has them. It is CKY, but row by row: the
    best of words i to j is the best of i + 1 to j, if no span begins at i, or the best of i to k
    and of k to j for a positive span i to k, so that time grows with the number of positive scores.
    Ties go to the tree with fewer and shorter spans at the left.
    """
    last = len(scores) - 1
    best = np.zeros((last + 1, last + 1))
    cut = np.zeros((last + 1, last + 1), np.int32)  # k, or 0 if word i is alone
    positive = np.triu(scores > 0, 2)
    positive[0, last] = False
    for start in range(last - 2, -1, -1):
        row, choice = best[start], cut[start]
        row[start + 1 :] = best[start + 1, start + 1 :]
        for end in np.flatnonzero(positive[start]).tolist():
            row[end] += scores[start, end]
            joined = row[end] + best[end, end + 1 :]
            better = joined > row[end + 1 :]
            np.copyto(row[end + 1 :], joined, where=better)
            choice[end + 1 :][better] = end
    return _chosen(positive, cut)


def _chosen(positive: NDArray[np.bool_], cut: NDArray[np.int32]) -> list[Span]:
    spans, stack = [], [(0, len(cut) - 1)]
    while stack:
        start, end = stack.pop()
        if end - start < 2:
            continue
        if positive[start, end]:
            spans.append((start, end))
        middle = int(cut[start, end])
        if middle:
            stack += [(middle, end), (start, middle)]
        else:
            stack.append((start + 1, end))
    return spans


def split_text(words: Sequence[str], longest: int = MAX_PART_WORDS) -> list[Span]:
    """Return the parts of a text with too many words, split after sentence ends.

    Without one, after a semicolon, then a comma, in the second half of the stretch; then anywhere.

    >>> split_text(["a", "b", ".", "c", "d", "e", "f"], longest=4)
    [(0, 3), (3, 7)]
    """
    stretches, start = [], 0
    while len(words) - start > longest:
        end = start + longest
        half = start + longest // 2
        ends = (
            at for marks in SPLIT_SIGNS for at in range(end, half, -1) if words[at - 1] in marks
        )
        end = next(ends, end)
        stretches.append((start, end))
        start = end
    return [*stretches, (start, len(words))]
