"""Syntax trees of code, their leaves the words of the text."""

from __future__ import annotations

import tree_sitter

from structkit.errors import UserError
from structkit.structure.code.parsing import parse
from structkit.structure.code.treesitter import CLASS, Grammar
from structkit.structure.trees.brackets import unescaped
from structkit.structure.trees.tree import Tree, from_spans


def code_tree(grammar: Grammar, text: str) -> Tree:
    """The tree of a text; what does not parse is under `ERROR`. Errors: no words, too slow.

    Words are the grammar's tokens, strings and comments cut at their blanks: joined, they are the
    text without its blanks (and with plain brackets, where it has the Treebank's escapes).
    """
    data = text.encode("utf-8")
    shift = 0
    tree = parse(grammar.parser, data)
    if tree.root_node.has_error and grammar.member:
        inside = parse(grammar.parser, CLASS[0] + data + CLASS[1])
        if not inside.root_node.has_error:
            tree, shift = inside, len(CLASS[0])
    nodes = _nodes(tree, shift, shift + len(data))
    words, places = _words(data, {byte for start, end, _ in nodes for byte in (start, end)})
    if not words:
        raise UserError("the text holds no code", "leave the record out")
    spans: dict[tuple[int, int], str] = {}
    for start, end, kind in nodes:
        span = places[start], places[end]
        if span[0] < span[1]:
            spans[span] = kind  # the innermost of those alike
    return from_spans(words, list(spans), list(spans.values()))


def _nodes(tree: tree_sitter.Tree, low: int, high: int) -> list[tuple[int, int, str]]:
    """Start, end and kind of all nodes between two bytes, in preorder, counted from the first."""
    found: list[tuple[int, int, str]] = [(0, high - low, "")]
    cursor = tree.walk()
    into, along, out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    while True:
        node = cursor.node
        assert node is not None
        start, end = node.byte_range
        if low <= start and end <= high:
            found.append((start - low, end - low, node.type))
        if into():
            continue
        while not along():
            if not out():
                return found


def _words(data: bytes, cuts: set[int]) -> tuple[list[str], dict[int, int]]:
    """The words between blanks and cuts, and how many stand in front of each cut."""
    words: list[str] = []
    places: dict[int, int] = {}
    at = 0
    for cut in sorted(cuts):
        words += map(unescaped, data[at:cut].decode("utf-8").split())
        places[cut] = len(words)
        at = cut
    return words, places
