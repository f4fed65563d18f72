"""StrAE as one would write it: with recursion in torch, and with message passing in DGL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from structkit.learning.strae.sentences import Sentence

SIZE, CHANNELS = 100, 10
COLUMNS = SIZE // CHANNELS


class Peer(nn.Module):
    """The parameters and the losses, with all scores in one matrix."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, SIZE)
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


def peer_step(model: Any, kind: str, sentences: Sequence[Sentence]) -> Callable[[], None]:
    """One step of a peer: `contrastive` and `ce` on given trees, `self-strae`."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    chosen = list(sentences)
    ids = [torch.from_numpy(sentence.ids).long() for sentence in chosen]
    lengths = torch.tensor([len(sentence) for sentence in chosen])
    trees = [children(sentence.depths.tolist()) for sentence in chosen]
    inputs = model.prepared(ids, trees)

    def run() -> None:
        optimizer.zero_grad()
        if kind == "self-strae":
            up, down, _ = model.merged(ids)
        else:
            up, down, leaves = model.embedded(inputs)
        if kind == "ce":
            loss = model.cross_entropy(down[leaves], torch.cat(ids), lengths)
        else:
            loss = model.contrastive(up, down)
        loss.backward()
        optimizer.step()

    return run


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


class PlainStrae(Peer):
    """One sentence after the other, one node after the other."""

    def prepared(self, ids: list[Tensor], trees: list[list[tuple[int, int]]]) -> Any:
        """The sentences as they are."""
        return list(zip(ids, trees, strict=True))

    def embedded(self, inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Up, down (nodes, E), and the leaves among the nodes."""
        found = []
        for ids, tree in inputs:
            up = self.leaves(ids)
            for left, right in tree:
                up.append(self.composed(up[left], up[right]))
            found.append((up, self.unfolded(up, tree, len(ids))))
        return self.stacked(found)

    def leaves(self, ids: Tensor) -> list[Tensor]:
        found: Tensor = self.drop_leaves(self.embedding(ids))
        return list(found.view(-1, CHANNELS, COLUMNS))

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

    def stacked(
        self, found: list[tuple[list[Tensor], list[Tensor]]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        up = torch.stack([node for nodes, _ in found for node in nodes])
        down = torch.stack([node for _, nodes in found for node in nodes])
        first, leaves = 0, []
        for nodes, _ in found:
            leaves.append(torch.arange(first, first + (len(nodes) + 1) // 2))
            first += len(nodes)
        return up.view(-1, SIZE), down.view(-1, SIZE), torch.cat(leaves)

    def merged(self, ids: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Self-StrAE: the most similar neighbors of each sentence, again and again."""
        found = []
        for sentence in ids:
            up = self.leaves(sentence)
            frontier, tree = list(range(len(up))), []
            while len(frontier) > 1:
                rows = torch.stack([up[node].view(-1) for node in frontier]).detach()
                similar = functional.cosine_similarity(rows[:-1], rows[1:])
                place = int(similar.argmax())
                tree.append((frontier[place], frontier[place + 1]))
                up.append(self.composed(up[frontier[place]], up[frontier[place + 1]]))
                frontier[place : place + 2] = [len(up) - 1]
            found.append((up, self.unfolded(up, tree, len(sentence))))
        return self.stacked(found)


class DglStrae(Peer):
    """A batch as one graph; messages go up to the parents, then down to the children."""

    def __init__(self, words: int, dgl: Any) -> None:
        super().__init__(words)
        self.dgl = dgl

    def prepared(self, ids: list[Tensor], trees: list[list[tuple[int, int]]]) -> Any:
        """The graph of all trees, its leaves and their ids."""
        source, target, leaves, first = [], [], [], 0
        for sentence, tree in zip(ids, trees, strict=True):
            for number, pair in enumerate(tree):
                source += [first + child for child in pair]
                target += [first + len(sentence) + number] * 2
            leaves.append(torch.arange(first, first + len(sentence)))
            first += 2 * len(sentence) - 1
        graph = self.dgl.graph((source, target), num_nodes=first)
        graph.edata["side"] = torch.arange(len(source)) % 2
        return graph, torch.cat(leaves), torch.cat(ids)

    def embedded(self, inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Up, down (nodes, E), and the leaves among the nodes."""
        graph, leaves, ids = inputs
        embeddings = self.drop_leaves(self.embedding(ids)).view(-1, CHANNELS, COLUMNS)
        start = embeddings.new_zeros(graph.num_nodes(), CHANNELS, COLUMNS)
        graph.ndata["e"] = start.index_copy(0, leaves, embeddings)
        levels = self.dgl.topological_nodes_generator(graph)
        graph.prop_nodes(levels[1:], self.send, self.gather)
        up = graph.ndata["e"]
        return up.view(-1, SIZE), self.unfolded(graph, up).view(-1, SIZE), leaves

    def send(self, edges: Any) -> dict[str, Tensor]:
        return {"m": edges.src["e"]}

    def gather(self, nodes: Any) -> dict[str, Tensor]:
        mail = nodes.mailbox["m"]  # (nodes, 2, channels, columns)
        return {"e": self.composed(mail[:, 0], mail[:, 1])}

    def unfolded(self, graph: Any, up: Tensor) -> Tensor:
        """Downward embeddings: the roots' upward ones, and what is sent down from there."""
        down = self.dgl.reverse(graph, copy_edata=True)
        down.ndata["e"] = up
        levels = self.dgl.topological_nodes_generator(down)
        down.prop_nodes(levels[1:], self.send_down, self.take)
        found: Tensor = down.ndata["e"]
        return found

    def send_down(self, edges: Any) -> dict[str, Tensor]:
        both = self.drop(self.decompose(edges.src["e"]))
        left, right = both.split(COLUMNS, -1)
        return {"m": torch.where(edges.data["side"][:, None, None] == 0, left, right)}

    def take(self, nodes: Any) -> dict[str, Tensor]:
        return {"e": nodes.mailbox["m"].squeeze(1)}

    def merged(self, ids: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Self-StrAE: all frontiers as one padded tensor, which shrinks by a column a step."""
        lengths = torch.tensor([len(sentence) for sentence in ids])
        padded = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        frontier = self.drop_leaves(self.embedding(padded))  # (sentences, length, E)
        real = torch.arange(frontier.shape[1]) < lengths[:, None]
        start = torch.cumsum(2 * lengths - 1, 0) - 2 * lengths + 1  # first node of each sentence
        node = start[:, None] + torch.arange(frontier.shape[1])
        pieces, nodes = [frontier[real]], [node[real]]
        source, target, made = [], [], lengths.clone()
        every = torch.arange(len(ids))
        while frontier.shape[1] > 1:
            similar = functional.cosine_similarity(frontier[:, :-1], frontier[:, 1:], dim=2)
            similar = similar.masked_fill(~real[:, 1:], float("-inf"))
            going = real.sum(1) > 1
            place = similar.argmax(1)
            rows, left = every[going], place[going]
            pair = frontier[rows, left], frontier[rows, left + 1]
            shape = (-1, CHANNELS, COLUMNS)
            parent = self.composed(pair[0].view(shape), pair[1].view(shape)).view(-1, SIZE)
            number = start[rows] + made[rows]
            made[rows] += 1
            source.append(torch.stack([node[rows, left], node[rows, left + 1]], 1).view(-1))
            target.append(number.repeat_interleave(2))
            frontier = frontier.index_put((rows, left + 1), parent)
            node[rows, left + 1] = number
            kept = torch.ones(frontier.shape[:2], dtype=torch.bool)
            kept[rows, left] = False
            kept[~going, -1] = False
            frontier = frontier[kept].view(len(ids), -1, SIZE)
            node, real = node[kept].view(len(ids), -1), real[kept].view(len(ids), -1)
            pieces.append(parent)
            nodes.append(number)
        order = torch.argsort(torch.cat(nodes))
        up = torch.cat(pieces)[order]  # (nodes, E)
        graph = self.dgl.graph((torch.cat(source), torch.cat(target)), num_nodes=len(up))
        graph.edata["side"] = torch.arange(graph.num_edges()) % 2
        down = self.unfolded(graph, up.view(-1, CHANNELS, COLUMNS))
        return up, down.view(-1, SIZE), torch.cat(nodes[:1])
