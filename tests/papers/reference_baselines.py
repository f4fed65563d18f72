"""IORNN, Tree-LSTM, Bi-LSTM and RoBERTa one node or token at a time, written for reading.

A tree is a leaf (an int: a word's id) or a pair of trees; `weights` is a model's state_dict.
"""

import torch
from torch.nn import functional

from tests.learning.strae.reference_strae import Node


def iornn_inside(tree, w):
    """The upward pass: tanh([left; right] Phi + phi)."""
    if isinstance(tree, int):
        return Node((tree,), w["embedding"][tree])
    left, right = (iornn_inside(child, w) for child in tree)
    both = torch.cat([left.up, right.up])
    up = torch.tanh(w["compose.weight"] @ both + w["compose.bias"])
    return Node(left.words + right.words, up, (left, right))


def iornn_outside(node, down, w):
    """The downward pass: tanh([parent; sibling's inside] Theta), a bias for each side."""
    node.down = down
    if not node.children:
        return
    left, right = node.children
    theta, (first, second) = w["decompose.weight"], w["biases"]
    iornn_outside(left, torch.tanh(theta @ torch.cat([down, right.up]) + first), w)
    iornn_outside(right, torch.tanh(theta @ torch.cat([down, left.up]) + second), w)


def iornn(tree, w):
    node = iornn_inside(tree, w)
    iornn_outside(node, w["root"], w)
    return node


def tree_lstm_up(tree, w):
    """Tai et al. 2015, equations 9 to 14, with two children; i, o and u in one matrix."""
    if isinstance(tree, int):
        i, o, u = (w["read.weight"] @ w["embedding"][tree] + w["bias"]).chunk(3)
        cell = torch.sigmoid(i) * torch.tanh(u)
        return cell_node((tree,), o, cell)
    left, right = (tree_lstm_up(child, w) for child in tree)
    both = torch.cat([left.up, right.up])
    i, o, u = (w["compose.weight"] @ both + w["bias"]).chunk(3)
    forget_left, forget_right = torch.sigmoid(w["forget.weight"] @ both).chunk(2)
    cell = torch.sigmoid(i) * torch.tanh(u) + forget_left * left.cell + forget_right * right.cell
    return cell_node(left.words + right.words, o, cell, (left, right))


def cell_node(words, o, cell, children=()):
    node = Node(words, torch.sigmoid(o) * torch.tanh(cell), children)
    node.cell = cell
    return node


def tree_lstm_down(node, down, cell, w):
    """From a parent's state to those of its children: gates of their own for each side."""
    node.down = down
    if not node.children:
        return
    gates = (w["decompose.weight"] @ down).chunk(2)
    forget = torch.sigmoid(w["keep.weight"] @ down).chunk(2)
    for child, gate, kept in zip(node.children, gates, forget, strict=True):
        i, o, u = (gate + w["down_bias"]).chunk(3)
        new = torch.sigmoid(i) * torch.tanh(u) + kept * cell
        tree_lstm_down(child, torch.sigmoid(o) * torch.tanh(new), new, w)


def tree_lstm(tree, w):
    node = tree_lstm_up(tree, w)
    tree_lstm_down(node, node.up, node.cell, w)
    return node


REFERENCES = {"iornn": iornn, "tree-lstm": tree_lstm}


def lstm(vectors, w, suffix=""):
    """The states after each vector; torch has the gates in the order i, f, g, o."""
    hidden = cell = torch.zeros_like(vectors[0])
    found = []
    for vector in vectors:
        gates = w[f"lstm.weight_ih_l0{suffix}"] @ vector + w[f"lstm.bias_ih_l0{suffix}"]
        gates = gates + w[f"lstm.weight_hh_l0{suffix}"] @ hidden + w[f"lstm.bias_hh_l0{suffix}"]
        i, f, g, o = gates.chunk(4)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        found.append(hidden)
    return found


def bi_lstm(ids, w):
    """The embedding of a text, and the loss of each of its tokens."""
    vectors = [w["embedding"][number] for number in ids]
    nothing = torch.zeros_like(vectors[0])
    forward = [nothing, *lstm(vectors, w)]  # [t] has seen what stands before t
    backward = [nothing, *lstm(vectors[::-1], w, "_reverse")][::-1]  # [t] what stands from t on

    def both(before, after):
        return (
            w["before.weight"] @ before
            + w["before.bias"]
            + w["after.weight"] @ after
            + w["after.bias"]
        )

    losses = []
    for place, number in enumerate(ids):
        scores = w["embedding"] @ both(forward[place], backward[place + 1])
        losses.append(-functional.log_softmax(scores, dim=0)[number])
    if len(ids) == 1:
        return vectors[0], losses
    return both(forward[-1], backward[0]), losses


def norm(vector, w, name):
    weight, bias = w[f"{name}.weight"], w[f"{name}.bias"]
    return functional.layer_norm(vector, vector.shape, weight, bias)


def roberta_layer(states, w, name, heads):
    """One layer, one token and one head at a time."""

    def linear(part, vector):
        return w[f"{name}.{part}.weight"] @ vector + w[f"{name}.{part}.bias"]

    size = len(states[0]) // heads
    distance, middle = w[f"{name}.distance"], len(w[f"{name}.distance"]) // 2
    found = []
    for here, state in enumerate(states):
        seen = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            query, scores = linear("query", state)[part], []
            for there, other in enumerate(states):
                key, apart = linear("key", other)[part], distance[middle + here - there]
                scores.append((query @ key + query @ apart + key @ apart) / size**0.5)
            weights = torch.stack(scores).softmax(0)
            values = [linear("value", other)[part] for other in states]
            seen.append(sum(w * value for w, value in zip(weights, values, strict=True)))
        state = norm(state + linear("output", torch.cat(seen)), w, f"{name}.attention_norm")
        inner = linear("narrow", functional.gelu(linear("widen", state)))
        found.append(norm(state + inner, w, f"{name}.norm"))
    return found


def roberta(ids, word, w, heads, layers):
    """The embedding of a text."""
    if len(ids) == 1:
        return w["embedding"][ids[0]]
    states = [[norm(w["embedding"][number], w, "norm") for number in ids]]
    for layer in range(layers):
        states.append(roberta_layer(states[-1], w, f"layers.{layer}", heads))
    chosen = [state for level in states[:3] for state in level] if word else states[-1]
    return torch.stack(chosen).mean(0)
