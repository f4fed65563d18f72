"""StrAE as the paper writes it: one sentence, one node at a time, in float64, written for reading.

A tree is a leaf (an int: the word's place in the sentence) or a pair of trees. Nothing is shared
with the fast version, and nothing is fast. Recursion is bounded by the trees of the tests.
"""

from itertools import pairwise

import torch
from torch.nn import functional


def square(vector, channels):
    """R^E as a matrix: one channel a row."""
    return vector.reshape(channels, -1)


def embed(table, word, channels):
    """Omega: a row of Psi as a matrix (table 1)."""
    return square(table[word], channels)


def compose(left, right, weight, bias):
    """C: hcat(e1, e2) Phi + phi (table 1); `weight` is Phi transposed."""
    return torch.cat([left, right], dim=1) @ weight.T + bias


def decompose(parent, weight, bias):
    """D: hsplit(e_p Theta + theta) (table 1)."""
    both = parent @ weight.T + bias
    columns = both.shape[1] // 2
    return both[:, :columns], both[:, columns:]


def index(embedding, table, bias=None):
    """Lambda: log of softmax(flatten(e) Psi^T) (table 1)."""
    scores = table @ embedding.reshape(-1)
    return functional.log_softmax(scores if bias is None else scores + bias, dim=0)


def cosine(one, other):
    one, other = one.reshape(-1), other.reshape(-1)
    return one @ other / (one.norm().clamp(min=1e-8) * other.norm().clamp(min=1e-8))


class Node:
    """A node of a tree with both its embeddings, its words and its children."""

    def __init__(self, words, up, children=()):
        self.words, self.up, self.children, self.down = words, up, children, None

    def all(self):
        """This node and those below."""
        return [self, *(node for child in self.children for node in child.all())]


def upward(tree, words, model):
    """Embeddings of all nodes, from the leaves up."""
    if isinstance(tree, int):
        return Node((words[tree],), embed(model["embedding"], words[tree], model["channels"]))
    left, right = (upward(child, words, model) for child in tree)
    return joined(left, right, model)


def joined(left, right, model):
    up = compose(left.up, right.up, model["compose.weight"], model["compose.bias"])
    return Node(left.words + right.words, up, (left, right))


def downward(node, down, model):
    """Embeddings of all nodes, from the root down; the root's is its upward embedding."""
    node.down = down
    if node.children:
        parts = decompose(down, model["decompose.weight"], model["decompose.bias"])
        for child, part in zip(node.children, parts, strict=True):
            downward(child, part, model)


def both_ways(tree, words, model):
    """A sentence's root, up and down."""
    root = upward(tree, words, model)
    downward(root, root.up, model)
    return root


def greedy(words, model, tie=1e-6):
    """Self-StrAE (algorithm 1): the root of the tree that merging the closest neighbors gives."""
    frontier = [upward(0, [word], model) for word in words]
    while len(frontier) > 1:
        close = [cosine(a.up, b.up) for a, b in pairwise(frontier)]
        best = max(close)
        place = next(at for at, value in enumerate(close) if value >= best - tie)
        frontier[place : place + 2] = [joined(*frontier[place : place + 2], model)]
    downward(frontier[0], frontier[0].up, model)
    return frontier[0]


def contrastive(nodes, scale, mask_duplicates=False):
    """Equation 2, over all nodes of a batch."""
    up = torch.stack([node.up.reshape(-1) for node in nodes])
    down = torch.stack([node.down.reshape(-1) for node in nodes])
    scores = functional.cosine_similarity(up[:, None], down[None], dim=2) * scale  # (M, M)
    if mask_duplicates:
        equal = [[i != j and a.words == b.words for j, b in enumerate(nodes)]
                 for i, a in enumerate(nodes)]  # fmt: skip
        scores = scores.masked_fill(torch.tensor(equal), float("-inf"))
    rows, columns = functional.log_softmax(scores, 1), functional.log_softmax(scores, 0)
    return -(rows.diagonal().sum() + columns.diagonal().sum()) / (2 * len(nodes))


def cross_entropy(root, model):
    """Equation 1, of one sentence: the mean over its leaves."""
    table = model.get("head.weight", model["embedding"])
    leaves = [node for node in root.all() if not node.children]
    losses = [-index(leaf.down, table, model.get("head.bias"))[leaf.words[0]] for leaf in leaves]
    return torch.stack(losses).mean()
