"""A constituency parser that scores spans: a bidirectional LSTM, its differences, one number.

Source of the design: minimal span-based parsing, Stern et al. 2017 (https://aclanthology.org/P17-1076).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from structkit.errors import UserError
from structkit.learning.span_parser.decoding import best_spans, pieces
from structkit.learning.span_parser.features import KINDS, UNKNOWN, Features, Sizes
from structkit.learning.training.tokens import Truncation
from structkit.learning.training.weights import fill, write_weights
from structkit.structure.trees.brackets import Tree, from_spans

Part = tuple[int, int, int, Sequence[str]]  # words, text's number, first word, the words
WINDOW = 2048  # texts that are sorted by length and parsed together
BATCH, BATCH_WORDS = 64, 4096  # texts, and words with padding, in one pass of the LSTM
SPAN_NUMBERS = 1 << 20  # hidden numbers of spans in memory at once


class SpanScorer(nn.Module):
    """Scores of all spans of a text; a positive one says: these words are a constituent."""

    def __init__(self, rows: Sequence[int], sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__()
        columns = (sizes.word, sizes.suffix, sizes.suffix, sizes.shape)
        self.tables = nn.ModuleList(
            nn.Embedding(count, width) for count, width in zip(rows, columns, strict=True)
        )
        for weight in self.tables.parameters():
            nn.init.normal_(weight, std=0.3)
        widths = [sum(columns), *[2 * sizes.hidden] * (sizes.layers - 1)]
        # one module a layer and direction: packed sequences, which torch needs to turn around
        # padded ones, have a backward pass that grows with the square of the length
        self.forwards, self.backwards = (
            nn.ModuleList(nn.LSTM(width, sizes.hidden, batch_first=True) for width in widths)
            for _ in range(2)
        )
        self.project = nn.Linear(2 * sizes.hidden, sizes.span)
        self.score = nn.Linear(sizes.span, 1)
        self.dropout = nn.Dropout(dropout)

    def embedded(self, numbers: Tensor) -> Tensor:
        """The words (texts, words + 2, columns) of their rows (texts, 4, words + 2)."""
        columns = [table(numbers[:, kind]) for kind, table in enumerate(self.tables)]
        return torch.cat(columns, dim=-1)

    def states(self, numbers: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states (texts, words + 2, hidden) after each word, read forward and backward."""
        states = self.embedded(numbers)
        for ahead, back in zip(self.forwards, self.backwards, strict=True):
            states = self.dropout(states)
            forward = ahead(states)[0]
            backward = turned(back(turned(states, lengths))[0], lengths)
            states = torch.cat([forward, backward], dim=-1)
        forward, backward = self.dropout(states).chunk(2, dim=-1)
        return forward, backward

    def fenceposts(self, numbers: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The places between words (texts, words + 1, span), as the span layer sees them.

        `lengths` (texts,) is the number of words of each, ends included; None: all are equal.
        A span's layer is a difference of two places: its product with the weights is made here,
        once a place in place of once a span.
        """
        forward, backward = self.states(numbers, lengths)
        places = torch.cat([forward[:, :-1], -backward[:, 1:]], dim=-1)
        return functional.linear(places, self.project.weight)

    def logits(self, left: Tensor, right: Tensor) -> Tensor:
        """The scores of spans between two places (…, span) each: (…)."""
        hidden = torch.relu(right - left + self.project.bias)
        return functional.linear(hidden, self.score.weight, self.score.bias)[..., 0]

    @torch.inference_mode()
    def table(self, places: Tensor) -> NDArray[np.float32]:
        """The scores (words + 1, words + 1) of one text, a block of rows at a time."""
        count, width = places.shape
        scores = np.zeros((count, count), np.float32)
        rows = max(1, SPAN_NUMBERS // (count * width))
        for row in range(0, count, rows):
            left, right = places[row : row + rows, None], places[None, row:]
            scores[row : row + rows, row:] = self.logits(left, right).cpu().numpy()
        return scores


class SpanParser(nn.Module):
    """A trained span parser: words in, trees out."""

    def __init__(self, scorer: SpanScorer, features: Features) -> None:
        super().__init__()
        self.scorer, self.features = scorer, features
        self.truncation = Truncation()

    @property
    def device(self) -> torch.device:
        """Where the scores are computed."""
        return self.scorer.score.weight.device

    def inputs(self, texts: Sequence[str], side: str) -> Any:
        """A parser gives trees, no embeddings: always a `UserError`."""
        raise UserError(
            "the model is a parser and gives no embeddings",
            "use it in parse-trees --parser builtin --model FOLDER",
        )

    def trees(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """The tree of each sentence, in order: every node a constituent with two words or more.

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
        parts: list[Part] = []
        for number, words in enumerate(sentences):
            cut = pieces(words)
            for start, end in cut:
                if len(cut) > 1 and end - start > 1:
                    spans_of[number].append((start, end))
                if end - start > 2:
                    parts.append((end - start, number, start, words[start:end]))
        parts.sort(key=lambda part: part[:3])
        with torch.inference_mode():
            while parts:
                count = max(1, min(BATCH, BATCH_WORDS // parts[-1][0]))  # the longest first
                self._parse(parts[-count:], spans_of)
                del parts[-count:]
        return spans_of

    def _parse(self, parts: Sequence[Part], spans_of: list[list[tuple[int, int]]]) -> None:
        """Add the spans of some parts, the last of which is the longest."""
        numbers = np.zeros((len(parts), len(KINDS), parts[-1][0] + 2), np.int64)
        for row, (length, _, _, words) in zip(numbers, parts, strict=True):
            row[:, : length + 2] = self.features.numbers(words)
        lengths = torch.tensor([length + 2 for length, *_ in parts])
        rows, lengths = torch.from_numpy(numbers).to(self.device), lengths.to(self.device)
        places = self.scorer.fenceposts(rows, lengths)
        for (length, number, offset, _), place in zip(parts, places, strict=True):
            spans = best_spans(self.scorer.table(place[: length + 1]))
            spans_of[number] += [(start + offset, end + offset) for start, end in spans]

    def save(self, folder: Path) -> None:
        """Write the weights, in 16 bits, and the vocabulary."""
        write_weights(
            folder, {name: weight.half() for name, weight in self.scorer.state_dict().items()}
        )
        self.features.save(folder)

    @classmethod
    def load(cls, folder: Path, sizes: Sizes) -> SpanParser:
        """What `save` wrote. Errors: `UserError` where a file is missing or damaged."""
        features = Features.load(folder)
        scorer = SpanScorer(features.sizes(), sizes)
        fill(scorer, folder)
        return cls(scorer, features).eval()


def turned(states: Tensor, lengths: Tensor | None) -> Tensor:
    """The states (texts, words, columns) of each text from its last word to its first.

    Padding after a text stays where it is.
    """
    if lengths is None:
        return states.flip(1)
    steps = torch.arange(states.shape[1], device=states.device)
    back = lengths[:, None] - 1 - steps
    order = torch.where(back >= 0, back, steps)[..., None]  # (texts, words, 1)
    return states.gather(1, order.expand_as(states))


def hidden_words(numbers: Tensor, rarity: Tensor) -> Tensor:
    """The rows (texts, 4, words) with rare words hidden at random: they become the unknown one."""
    words = numbers[:, 0]
    hide = torch.rand(words.shape, device=words.device) < rarity[words]
    return torch.cat([words.masked_fill(hide, UNKNOWN)[:, None], numbers[:, 1:]], dim=1)
