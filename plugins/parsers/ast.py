"""Code: its syntax tree by tree-sitter, in every language that has a grammar here."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator

import numpy as np
import tree_sitter

from structkit import plugin
from structkit.errors import UserError, data_errors, flag
from structkit.settings import settings_class
from structkit.structure.code.grammar import CLASS_FRAME, Grammar, parse
from structkit.structure.code.languages import CodeLanguage, language_named
from structkit.structure.trees.brackets import unescaped
from structkit.structure.trees.tree import Ints, Tree, from_spans


@settings_class
class Parser(plugin.Parser):
    """Syntax trees of code; `language` is the language of all texts, None: each has its own.

    >>> from structkit.structure.trees.brackets import write_tree
    >>> trees = Parser(language="python").trees([plugin.Unparsed("x = f(1)")])
    >>> [write_tree(tree) for tree in trees]  # doctest: +ELLIPSIS
    ['(assignment (identifier x) (= =) (call (identifier f) (argument_list (-LRB- -LRB-) ...
    """

    fields = ("code",)
    factor = "balanced"

    language: str | None = None

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """Yield the tree of each text in its language."""
        for each in texts:
            try:
                yield code_tree(grammar(self.language or each.language), each.text)
            except UserError as error:
                yield error


def grammar(language: object) -> Grammar:
    """Return the grammar of a language. Errors: none named, unknown, or without one."""
    if not isinstance(language, str):
        raise UserError('field "language" is missing', f"name it with {flag('language')}")
    with data_errors():
        known = language_named(language)
    if not isinstance(known, CodeLanguage):
        raise UserError(f"language {language!r} has no syntax tree", "leave the record out")
    return known.grammar


def code_tree(grammar: Grammar, text: str) -> Tree:
    """Return the tree of a text, with faults under `ERROR`. Errors: no words, too slow.

    Words are the grammar's tokens, with strings and comments split at white space: joined, they are
    the text without its white space (and with plain brackets instead of the Treebank's escapes).
    """
    data = text.encode("utf-8")
    shift = 0
    tree = parse(grammar.parser, data)
    if tree.root_node.has_error and grammar.member:
        inside = parse(grammar.parser, CLASS_FRAME[0] + data + CLASS_FRAME[1])
        if not inside.root_node.has_error:
            tree, shift = inside, len(CLASS_FRAME[0])
    spans, kinds = _nodes(tree, shift, shift + len(data))
    del tree
    cuts, places = np.unique(spans, return_inverse=True)
    words, before = _words_between(data, cuts)
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


def _words_between(data: bytes, cuts: Ints) -> tuple[list[str], Ints]:
    """Return the words between white space and cuts, and the number of words before each cut."""
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
