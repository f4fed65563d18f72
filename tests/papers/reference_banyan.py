"""Banyan as the paper writes it: one node at a time, in float64, written for reading.

A node is a token (an int) or a pair of nodes; equal ones are one. Nothing is shared with the fast
version, and nothing is fast. Recursion is bounded by the sentences of the tests.
"""

from itertools import pairwise

import torch
from torch.nn import functional

from tests.learning.strae.reference_strae import cosine


class Plain:
    """The embeddings of a batch's nodes, from the parameters of a model by name.

    `noise` makes the factors of a node's dropout.
    """

    def __init__(self, parameters, channels, noise=lambda node: 1.0):
        self.parameters, self.channels, self.noise = parameters, channels, noise
        self.ups, self.downs, self.parents = {}, {}, {}

    def wide(self, name, row):
        """One of the vectors of a channel, for all channels."""
        found = self.parameters[name][row] if self.parameters[name].ndim > 1 else None
        return (self.parameters[name] if found is None else found).repeat(self.channels)

    def up(self, node):
        if node not in self.ups:
            if isinstance(node, int):
                found = self.parameters["embedding"][node]
            else:
                left, right = (self.up(child) for child in node)
                found = left * self.wide("compose", 0).sigmoid()
                found = found + right * self.wide("compose", 1).sigmoid()
                found = found + self.wide("compose_bias", 0)
            self.ups[node] = found * self.noise(node)
        return self.ups[node]

    def greedy(self, words):
        """The node of a sentence: the closest neighbors are merged, the leftmost where equal."""
        frontier = list(words)
        while len(frontier) > 1:
            close = [cosine(self.up(one), self.up(other)) for one, other in pairwise(frontier)]
            best = max(close)
            place = next(at for at, value in enumerate(close) if value >= best - 1e-6)
            frontier[place : place + 2] = [(frontier[place], frontier[place + 1])]
        return frontier[0]

    def entangle(self, roots):
        """Give all nodes their parents, each once, and the side on which they are."""
        waiting, seen = list(roots), set()
        while waiting:
            node = waiting.pop()
            self.parents.setdefault(node, [])
            if node in seen or isinstance(node, int):
                continue
            seen.add(node)
            for side, child in enumerate(node):
                self.parents.setdefault(child, []).append((node, side))
                waiting.append(child)

    def down(self, node):
        if node not in self.downs:
            made = [
                self.down(parent) * self.wide("decompose", side).sigmoid()
                + self.wide("decompose_bias", side)
                for parent, side in self.parents[node]
            ]
            self.downs[node] = torch.stack(made).mean(0) if made else self.up(node)
        return self.downs[node]

    def loss(self, sentences):
        """The cross-entropy of the different tokens of all sentences."""
        self.entangle([self.greedy(words) for words in sentences])
        tokens = sorted({word for words in sentences for word in words})
        down = torch.stack([self.down(token) for token in tokens])
        scores = down @ self.parameters["head.weight"].T + self.parameters["head.bias"]
        return functional.cross_entropy(scores, torch.tensor(tokens))
