"""A training step of Banyan beside recursion in torch, at batch 512: time and memory.

    python -m tests.benchmarks.banyan

24 words in the mean, vocabulary 25,000, embeddings of 256 in 128 channels; forward, backward and
Adam; CPU time of one thread. The peer composes and decomposes each different node once too, one
node at a time, as one would write it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Record
from structkit.registry import load
from tests.benchmarks.rows import tell
from tests.benchmarks.strae import WORDS, corpus, seconds, step_of

BATCH = 512
Node = Any  # a token or a pair of nodes


class PlainBanyan(nn.Module):
    """Dictionaries of nodes; recursion up, and down from a node's parents."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(WORDS, 256).uniform_(-0.1, 0.1))
        self.factors = nn.Parameter(torch.empty(4, 2).uniform_(0.6, 0.9))
        self.biases = nn.Parameter(torch.zeros(3, 2))
        self.head = nn.Linear(256, WORDS)

    def loss(self, sentences: list[list[int]]) -> Tensor:
        """The cross-entropy of the different tokens."""
        self.ups: dict[Node, Tensor] = {}
        self.downs: dict[Node, Tensor] = {}
        self.parents: dict[Node, list[tuple[Node, int]]] = {}
        self.wide = self.factors.sigmoid().repeat(1, 128), self.biases.repeat(1, 128)
        for words in sentences:
            self.parents.setdefault(self.merged(words), [])
        tokens = sorted({word for words in sentences for word in words})
        down = torch.stack([self.down(token) for token in tokens])
        return functional.cross_entropy(self.head(down), torch.tensor(tokens))

    def merged(self, words: list[int]) -> Node:
        """The root of a sentence by greedy merging; a similarity is computed once."""
        frontier: list[Node] = list(words)
        close = [self.similarity(*pair) for pair in pairwise(frontier)]
        while len(frontier) > 1:
            place = max(range(len(close)), key=close.__getitem__)
            pair = frontier[place], frontier[place + 1]
            self.entangle(pair)
            frontier[place : place + 2] = [pair]
            del close[place]
            for beside in (place - 1, place):
                if 0 <= beside < len(close):
                    close[beside] = self.similarity(frontier[beside], frontier[beside + 1])
        return frontier[0]

    @torch.no_grad()
    def similarity(self, left: Node, right: Node) -> float:
        return functional.cosine_similarity(self.up(left), self.up(right), dim=0).item()

    def entangle(self, pair: tuple[Node, Node]) -> None:
        if pair not in self.ups:
            for side, child in enumerate(pair):
                self.parents.setdefault(child, []).append((pair, side))
        self.up(pair)

    def up(self, node: Node) -> Tensor:
        if node not in self.ups:
            if isinstance(node, int):
                made, dropout = self.embedding[node], 0.1
            else:
                (left, right), (factors, biases) = map(self.up, node), self.wide
                made, dropout = left * factors[0] + right * factors[1] + biases[0], 0.1
            self.ups[node] = functional.dropout(made, dropout)
        return self.ups[node]

    def down(self, node: Node) -> Tensor:
        if node not in self.downs:
            factors, biases = self.wide
            made = [
                functional.dropout(self.down(each) * factors[2 + side] + biases[1 + side], 0.1)
                for each, side in self.parents.get(node, ())
            ]
            self.downs[node] = torch.stack(made).mean(0) if made else self.up(node)
        return self.downs[node]


class Words(list[Record]):
    """Prepared records, as a spool has them."""


def ours(sentences: list[list[int]]) -> Callable[[], Any]:
    """One step of structkit's training."""
    known = [{"id": "all", "words": [str(number) for number in range(WORDS)]}]
    said = [{"id": "", "words": [str(number) for number in words]} for words in sentences]
    spool: Spool = Words(said + known)  # type: ignore[assignment]
    training = load("method", "banyan")(minimum_count=1).build(spool).train()
    return step_of(training, len(sentences))


def recursion(sentences: list[list[int]]) -> Callable[[], Any]:
    """One step of the peer."""
    sys.setrecursionlimit(100_000)
    model = PlainBanyan()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def run() -> None:
        optimizer.zero_grad(set_to_none=True)
        model.loss(sentences).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return run


def main(arguments: list[str] | None = None) -> None:
    """Compare, with one thread."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=3, help="steps of each way")
    parser.add_argument("--memory", action="store_true", help="only our steps")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sentences = [sentence.ids.tolist() for sentence in corpus(BATCH)]
    mine = ours(sentences)
    mine()
    if args.memory:
        mine()
        lines = Path("/proc/self/status").read_text().splitlines()
        print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6)
        return
    peer = recursion(sentences)
    times = [(seconds(mine), seconds(peer)) for _ in range(args.pairs)]
    ratios = [theirs / our for our, theirs in times]
    note = f"[{min(our for our, _ in times) * 1000:.0f} ms]"
    tell("Banyan, a step at batch 512: recursion / ours", ratios, 3, more=True, note=note)
    command = [sys.executable, "-m", "tests.benchmarks.banyan", "--memory"]
    peak = float(subprocess.run(command, capture_output=True, check=True).stdout)
    tell("Banyan, batch 512: peak memory", [peak], 1, unit=" GB")


if __name__ == "__main__":
    main()
