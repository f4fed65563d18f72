"""Syntax trees of code, their leaves the words of the text."""

from __future__ import annotations

import sys
from array import array

import numpy as np
import tree_sitter

from structkit.errors import UserError
from structkit.structure.code.grammar import CLASS, Grammar, parse
from structkit.structure.trees.brackets import unescaped
from structkit.structure.trees.tree import Ints, Tree, from_spans


def code_tree(grammar: Grammar, text: str) -> Tree:
    """The tree of a text; what does not parse is under `ERROR`. Errors: no words, too slow.

    Words are the grammar's tokens, strings and comments cut at their white space: joined, they
    are the text without its white space (and with plain brackets, where it has the Treebank's
    escapes).
    """
    data = text.encode("utf-8")
    shift = 0
    tree = parse(grammar.parser, data)
    if tree.root_node.has_error and grammar.member:
        inside = parse(grammar.parser, CLASS[0] + data + CLASS[1])
        if not inside.root_node.has_error:
            tree, shift = inside, len(CLASS[0])
    spans, kinds = _nodes(tree, shift, shift + len(data))
    del tree
    cuts, places = np.unique(spans, return_inverse=True)
    words, before = _words(data, cuts)
    if not words:
        raise UserError("the text holds no code", "leave the record out")
    spans = before[places.reshape(-1, 2)]
    filled = spans[:, 0] < spans[:, 1]
    return from_spans(words, spans[filled], [kinds[node] for node in np.flatnonzero(filled)])


def _nodes(tree: tree_sitter.Tree, low: int, high: int) -> tuple[Ints, list[str]]:
    """Start and end (nodes, 2) and kind of all nodes between two bytes, in preorder."""
    spans, kinds = array("i", (0, high - low)), [""]  # the whole text first
    cursor = tree.walk()
    into, along, out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    while True:
        node = cursor.node
        assert node is not None
        start, end = node.byte_range
        if low <= start and end <= high:
            spans.extend((start - low, end - low))
            kinds.append(sys.intern(node.type))
        if into():
            continue
        while not along():
            if not out():
                return np.asarray(spans).reshape(-1, 2), kinds


def _words(data: bytes, cuts: Ints) -> tuple[list[str], Ints]:
    """The words between white space and cuts, and how many are before each cut."""
    words: list[str] = []
    known: dict[str, str] = {}  # each word once, however often it occurs
    before = np.empty(len(cuts), np.int32)
    at = 0
    for place, cut in enumerate(cuts.data):
        between = [unescaped(word) for word in data[at:cut].decode("utf-8").split()]
        words += map(known.setdefault, between, between)
        before[place] = len(words)
        at = cut
    return words, before
