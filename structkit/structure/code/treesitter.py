"""Syntax of code by tree-sitter: fast, and also for code that does not parse cleanly."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import tree_sitter

from structkit.structure.code.lexical import Lexical
from structkit.structure.code.parsing import blanked, parse
from structkit.structure.code.spans import Span, from_bytes

SKIP, TAKE, ENTER, HIDE = range(4)
ERROR = 0xFFFF
ENDLESS = (1 << 62, 1 << 62)
CLASS = (b"class A {", b"\n}")
NOTHING = frozenset[int]()
NO_WORDS = frozenset[str]()


@dataclass(frozen=True)
class Grammar:
    """A language's grammar, with the kinds of leaves to take and the kinds of nodes to skip."""

    parser: tree_sitter.Parser
    take: frozenset[int]
    skip: frozenset[int]
    # what to skip under a kind of parent: kinds and names of fields
    under: Mapping[int, frozenset[int | str]] = field(default_factory=dict)
    never: frozenset[str] = NO_WORDS
    reserved: frozenset[str] = NO_WORDS
    member: re.Pattern[str] | None = None
    lexical: Lexical | None = None
    blank: re.Pattern[bytes] | None = None
    with_types: Grammar | None = None

    @classmethod
    def load(
        cls,
        pointer: object,
        *,
        take: Iterable[str],
        skip: Iterable[str],
        type_names: Iterable[str] = (),
        types: Iterable[str] = (),
        never: Collection[str] = (),
        reserved: Collection[str] = (),
        member: str | None = None,
        lexical: Lexical | None = None,
        blank: re.Pattern[bytes] | None = None,
    ) -> Grammar:
        """The grammar that the `language()` of a grammar package gives.

        `take` and `skip` are kinds of nodes, named or literal; one that the grammar lacks is a
        bug. With types, `type_names` are taken too; without, `types` are skipped: a
        kind, a kind under a parent (`annotation>identifier`), a field of one (`parameter.type`).
        `never` are words that the grammar takes for names; `reserved` words are left out where
        code does not parse. `member` is a pattern for the start of a class member: with one, code
        that does not parse is read inside a class too. `lexical` tells where strings and comments
        are in code that does not parse: nothing is taken there, whatever the tree says. `blank` is
        what the grammar does not understand, such as macros: code that does not parse is read
        without it.
        """
        language = tree_sitter.Language(pointer)
        kinds = kinds_by_name(language)
        around = set[int]()
        under: dict[int, set[int | str]] = {}
        for rule in types:
            parent, sign, child = re.split("([>.]|$)", rule, maxsplit=1)
            for kind in kinds[parent]:
                if sign:
                    under.setdefault(kind, set()).update(kinds[child] if sign == ">" else [child])
                else:
                    around.add(kind)
        typed = cls(
            tree_sitter.Parser(language),
            NOTHING.union(*(kinds[kind] for kind in (*take, *type_names))),
            NOTHING.union(*(kinds[kind] for kind in skip)),
            never=frozenset(never),
            reserved=frozenset((*never, *reserved)),
            member=re.compile(member) if member else None,
            lexical=lexical,
            blank=blank,
        )
        return replace(
            typed,
            take=typed.take.difference(*(kinds[kind] for kind in type_names)),
            skip=typed.skip | around,
            under={kind: frozenset(hidden) for kind, hidden in under.items()},
            with_types=typed,
        )

    def leaves(self, text: str, *, types: bool = False) -> list[Span]:
        """Every leaf of a kind to take that is not inside a node to skip, in text order.

        A text that takes too long to parse raises.
        """
        if types and self.with_types:
            return self.with_types.leaves(text)
        data = text.encode("utf-8")
        tree, shift = self._parse(text, data)
        leaves = self._walk(tree)
        if shift:
            end = shift + len(data)
            leaves = [(a - shift, b - shift) for a, b in leaves if shift <= a and b <= end]
        barred = self.never
        holes: list[Span] = []
        if tree.root_node.has_error:
            # a missing name is an empty one, and reserved words may be taken for names
            leaves = [(start, end) for start, end in leaves if start < end]
            barred = self.reserved
            holes = self.lexical.holes(text) if self.lexical else []
        spans = from_bytes(text, data, leaves)
        if holes:
            spans = outside(spans, holes)
        if any(map(text.__contains__, barred)):
            return [(start, end) for start, end in spans if text[start:end] not in barred]
        return spans

    def _parse(self, text: str, data: bytes) -> tuple[tree_sitter.Tree, int]:
        """The tree of a text, and where the text starts in it.

        The first reading without an error counts: as it is, or inside a class. What looks like
        a class member is read inside a class first, so that clean code is parsed once. If both
        have errors, the one tried first counts.
        """
        if self.member is None:
            tree = parse(self.parser, data)
            if tree.root_node.has_error and (seen := blanked(self.blank, data)) != data:
                tree = parse(self.parser, seen)
            return tree, 0
        ways = (CLASS, (b"", b"")) if self.member.match(text) else ((b"", b""), CLASS)
        trees: list[tuple[tree_sitter.Tree, int]] = []
        for head, tail in ways:
            tree = parse(self.parser, head + data + tail)
            trees.append((tree, len(head)))
            if not tree.root_node.has_error:
                return trees[-1]
        return trees[0]

    @cached_property
    def _actions(self) -> list[int]:
        """What to do with a node of a kind, at the kind's number."""
        language = self.parser.language
        assert language is not None
        kinds = range(language.node_kind_count)
        # unnamed nodes have no parts
        skip = self.skip.union(kind for kind in kinds if not language.node_kind_is_named(kind))
        actions = [ENTER] * (ERROR + 1)
        for some, action in ((skip, SKIP), (self.under, HIDE), (self.take, TAKE)):
            for kind in some:
                actions[kind] = action
        return actions

    def _walk(self, tree: tree_sitter.Tree) -> list[Span]:
        cursor = tree.walk()
        into, along, out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        actions = self._actions
        leaves: list[Span] = []
        hidden: list[Span] = []
        # a cursor over leaves costs half of the parse; queries cost as much, and leave strings and
        # types to be sorted out; recursion costs more (and has a depth limit)
        while True:
            node = cursor.node
            action = actions[node.kind_id]  # type: ignore[union-attr]
            if action > TAKE:
                if action == HIDE:
                    hidden += self._hidden(node)  # type: ignore[arg-type]
                if into():
                    continue
            elif action:
                leaves.append(node.byte_range)  # type: ignore[union-attr]
            while not along():
                if not out():
                    return outside(leaves, sorted(hidden)) if hidden else leaves

    def _hidden(self, node: tree_sitter.Node) -> Iterator[Span]:
        """Those children of a node that are types."""
        rules = self.under[node.kind_id]
        for index, child in enumerate(node.children):
            name = node.field_name_for_child(index)
            if child.kind_id in rules or name in rules:
                yield child.byte_range


def outside(spans: list[Span], holes: list[Span]) -> list[Span]:
    """The spans that are not in one of the holes; holes are in order of their start.

    >>> outside([(0, 1), (2, 3), (4, 5)], [(2, 4)])
    [(0, 1), (4, 5)]
    """
    kept: list[Span] = []
    rest = iter(holes)
    start, end = next(rest)
    for span in spans:
        while span[0] >= end:
            start, end = next(rest, ENDLESS)
        if span[1] <= start:
            kept.append(span)
    return kept


def kinds_by_name(language: tree_sitter.Language) -> dict[str, set[int]]:
    """The numbers of every kind of node: an alias has several."""
    kinds: dict[str, set[int]] = {}
    for number in range(language.node_kind_count):
        kinds.setdefault(language.node_kind_for_id(number) or "", set()).add(number)
    return kinds
