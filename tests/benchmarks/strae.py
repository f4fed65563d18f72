"""A training step of StrAE beside plain recursion in torch, as one would write it.

Contrastive and cross-entropy on given trees, and Self-StrAE; batch 128, 24 words in the mean,
vocabulary 25,000, embeddings of 100; forward, backward and Adam; CPU time of one thread, medians of
steps in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.strae.sentences import Sentence, expand_subwords
from structkit.learning.strae.settings import NodeSettings
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.devices import fastest_matmul
from structkit.registry import load
from tests.benchmarks.processes import PYTHON, measured
from tests.benchmarks.table import Given, Race, tell

WORDS = 25_000
SIZE, CHANNELS = 100, 10
COLUMNS = SIZE // CHANNELS
TARGETS = {"contrastive": 6.5, "ce": 3.8, "self-strae": 7}


def corpus(batch: int) -> list[Sentence]:
    """Random trees of random sentences: lengths as in text, words by Zipf's law."""
    draw = np.random.default_rng(0)
    lengths = np.clip(draw.gamma(6, 4, batch).round(), 4, 60).astype(int)
    return [
        expand_subwords(
            np.minimum(draw.zipf(1.3, length), WORDS - 1)[:, None].tolist(), depths(length, draw)
        )
        for length in lengths
    ]


def depths(length: int, draw: np.random.Generator) -> list[int]:
    """The leaves' depths in a random tree that leans to the right, as parses do."""
    found, waiting = [], [(length, 0)]
    while waiting:
        size, depth = waiting.pop()
        if size == 1:
            found.append(depth)
            continue
        left = 1 + int((size - 1) * draw.beta(0.5, 1.5))
        waiting += [(size - left, depth + 1), (left, depth + 1)]
    return found


def ours(kind: str, sentences: list[Sentence]) -> Callable[[], Any]:
    """One step of structkit's training."""
    objective = "ce" if kind == "ce" else "contrastive"
    method = load("method", "self-strae" if kind == "self-strae" else "strae")
    settings: NodeSettings = method(objective=objective)
    vocabulary = Vocabulary([str(number) for number in range(WORDS)])
    training = StraeTraining(settings, settings.make_model(WORDS), vocabulary).train()
    optimizer = training.optimizer()

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        training.backward(training.in_portions(sentences))
        optimizer.step()

    return run


class Recursion(nn.Module):
    """One sentence after the other, one node after the other; all scores are in one matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, SIZE)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.compose = nn.Linear(2 * COLUMNS, COLUMNS)
        self.decompose = nn.Linear(COLUMNS, 2 * COLUMNS)
        self.drop_leaves, self.drop = nn.Dropout(0.2), nn.Dropout(0.1)

    def composed(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, channels, columns) of the parent."""
        made: Tensor = self.drop(self.compose(torch.cat([left, right], -1)))
        return made

    def decomposed(self, parent: Tensor) -> tuple[Tensor, Tensor]:
        """(…, channels, columns) of both children."""
        left, right = self.drop(self.decompose(parent)).split(COLUMNS, -1)
        return left, right

    def leaves(self, ids: Tensor) -> list[Tensor]:
        found: Tensor = self.drop_leaves(self.embedding(ids))
        return list(found.view(-1, CHANNELS, COLUMNS))

    def given(self, ids: Tensor, tree: list[tuple[int, int]]) -> tuple[list[Tensor], list[Tensor]]:
        """Up and down of a sentence with its tree."""
        up = self.leaves(ids)
        for left, right in tree:
            up.append(self.composed(up[left], up[right]))
        return up, self.unfolded(up, tree, len(ids))

    def merged(self, ids: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Self-StrAE: the most similar neighbors of a sentence, again and again."""
        up = self.leaves(ids)
        frontier, tree = list(range(len(up))), []
        while len(frontier) > 1:
            rows = torch.stack([up[node].view(-1) for node in frontier]).detach()
            similar = functional.cosine_similarity(rows[:-1], rows[1:])
            place = int(similar.argmax())
            tree.append((frontier[place], frontier[place + 1]))
            up.append(self.composed(up[frontier[place]], up[frontier[place + 1]]))
            frontier[place : place + 2] = [len(up) - 1]
        return up, self.unfolded(up, tree, len(ids))

    def unfolded(
        self, up: list[Tensor], tree: Sequence[tuple[int, int]], words: int
    ) -> list[Tensor]:
        """Down of a tree, in the order of the merges."""
        down = list(up)

        def visit(node: int, embedding: Tensor) -> None:
            down[node] = embedding
            if node >= words:
                for child, part in zip(tree[node - words], self.decomposed(embedding), strict=True):
                    visit(child, part)

        visit(len(up) - 1, up[-1])
        return down

    def contrastive(self, up: Tensor, down: Tensor) -> Tensor:
        """Equation 2."""
        up, down = functional.normalize(up), functional.normalize(down)
        scores = up @ down.T / 0.2  # (nodes, nodes)
        own = torch.arange(len(up))
        rows = functional.cross_entropy(scores, own)
        return (rows + functional.cross_entropy(scores.T, own)) / 2

    def cross_entropy(self, down: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        """Equation 1."""
        scores = down @ self.embedding.weight.T  # (tokens, words)
        each = functional.cross_entropy(scores, ids, reduction="none")
        return (each / lengths.repeat_interleave(lengths)).sum() / len(lengths)


def theirs(kind: str, sentences: Sequence[Sentence]) -> Callable[[], None]:
    """One step of recursion: `contrastive` and `ce` on given trees, `self-strae`."""
    model = Recursion()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    ids = [torch.from_numpy(sentence.ids).long() for sentence in sentences]
    trees = [children(sentence.depths.tolist()) for sentence in sentences]
    lengths = torch.tensor([len(each) for each in ids])

    def run() -> None:
        optimizer.zero_grad()
        if kind == "self-strae":
            found = [model.merged(each) for each in ids]
        else:
            found = [model.given(each, tree) for each, tree in zip(ids, trees, strict=True)]
        if kind == "ce":
            leaves = [down[: len(each)] for (_, down), each in zip(found, ids, strict=True)]
            loss = model.cross_entropy(stacked(leaves), torch.cat(ids), lengths)
        else:
            loss = model.contrastive(*(stacked(each) for each in zip(*found, strict=True)))
        loss.backward()
        optimizer.step()

    return run


def stacked(sentences: Sequence[list[Tensor]]) -> Tensor:
    """The nodes of all sentences, (nodes, E)."""
    return torch.stack([node for nodes in sentences for node in nodes]).view(-1, SIZE)


def children(depths: Sequence[int]) -> list[tuple[int, int]]:
    """The merges of a tree: pairs of nodes, where n + i is the i-th merge."""
    merges: list[tuple[int, int]] = []
    stack: list[tuple[int, int]] = []
    for leaf, depth in enumerate(depths):
        stack.append((leaf, depth))
        while len(stack) > 1 and stack[-1][1] == stack[-2][1]:
            (right, depth), (left, _) = stack.pop(), stack.pop()
            merges.append((left, right))
            stack.append((len(depths) + len(merges) - 1, depth - 1))
    return merges


def compare(kind: str, sentences: list[Sentence], given: Given) -> None:
    """How many times faster than recursion."""
    mine, peer = ours(kind, sentences), theirs(kind, sentences)
    mine()
    peer()
    race = Race(given, {"ours": mine, "theirs": peer})
    note = f"[{race.median('ours') * 1000:.0f} ms]"
    title = f"StrAE {kind}, a step: recursion / ours"
    race.row(title, "theirs", "ours", TARGETS[kind], more=True, note=note)


def strae(given: Given, folder: Path) -> None:
    """Run all comparisons, with one thread."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision(fastest_matmul())  # as training does
    sentences = corpus(128)
    for kind in TARGETS:
        compare(kind, sentences, given)
    script = "from tests.benchmarks.strae import large_steps; large_steps()"
    peak = measured([PYTHON, "-c", script]).peak / 2**30
    tell("StrAE contrastive, batch 512: peak memory", [peak], 1, unit=" GB")


def large_steps() -> None:
    """Two steps at batch 512 in this process."""
    torch.set_num_threads(1)
    step = ours("contrastive", corpus(512))
    step()
    step()
