"""Syntax of code by tree-sitter: fast, and also for code that does not parse cleanly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import tree_sitter

from structkit.structure.spans import Span, from_bytes


@dataclass(frozen=True)
class Grammar:
    """A language's grammar, with the kinds of leaves to take and the kinds of nodes to skip."""

    parser: tree_sitter.Parser
    take: frozenset[int]
    skip: frozenset[int]

    @classmethod
    def load(cls, pointer: object, *, take: Iterable[str], skip: Iterable[str]) -> Grammar:
        """The grammar behind the `language()` of a grammar package.

        `take` and `skip` are node kinds, named or literal; one that the grammar lacks is a bug.
        """
        language = tree_sitter.Language(pointer)
        kinds: dict[str, set[int]] = {}
        for number in range(language.node_kind_count):
            kinds.setdefault(language.node_kind_for_id(number) or "", set()).add(number)
        return cls(
            tree_sitter.Parser(language),
            frozenset[int]().union(*(kinds[kind] for kind in take)),
            frozenset[int]().union(*(kinds[kind] for kind in skip)),
        )

    def leaves(self, text: str, *, reserved: frozenset[str] = frozenset()) -> list[Span]:
        """Every leaf of a kind to take that is not inside a node to skip, in text order.

        `reserved` words are left out: where code does not parse, one may be taken for a name.
        """
        data = text.encode("utf-8")
        tree = self.parser.parse(data)
        found = from_bytes(text, data, self._walk(tree))
        if tree.root_node.has_error:
            return [(start, end) for start, end in found if text[start:end] not in reserved]
        return found

    def _walk(self, tree: tree_sitter.Tree) -> list[Span]:
        cursor = tree.walk()
        into, along, out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        take, skip = self.take, self.skip
        found: list[Span] = []
        # a cursor over leaves costs a third of the parse; queries cost half, recursion as much
        # as the parse itself (and has a depth limit)
        while True:
            node = cursor.node
            kind = node.kind_id  # type: ignore[union-attr]
            if kind in take:
                found.append(node.byte_range)  # type: ignore[union-attr]
            elif kind not in skip and into():
                continue
            while not along():
                if not out():
                    return found
