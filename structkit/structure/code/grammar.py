"""Syntax of code by tree-sitter: fast, and also for code that does not parse cleanly.

A few kilobytes of odd code can keep a grammar busy for hours: parsing gives up in time.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import thread_time
from types import MappingProxyType

import tree_sitter

from structkit.errors import UserError
from structkit.processes import in_child
from structkit.structure import Span

MAX_PARSE_SECONDS = 5.0  # seconds of CPU time: a function takes 0.0001, a megabyte 0.2
# bytes; code takes 200 times its size
PARSE_MEMORY_BYTES = 1 << 30
PARSE_MEMORY_PER_BYTE = 200
MAX_UNTRIED_BYTES = 8_000  # bytes
MAX_UNTIMED_BYTES = 1_000  # bytes: the worst known text of this size takes 0.2 s
SKIP, TAKE, ENTER, HIDE = range(4)
ERROR_KIND = 0xFFFF
TO_SPACES = bytes(ord("\n" if byte == ord("\n") else " ") for byte in range(256))
LONE_CR = re.compile(rb"\r(?!\n)")
BARE_FRAME = (b"", b"")
CLASS_FRAME = (b"class A {", b"\n}")
INSIDE_WORD = re.compile(rb"(?<=[\w\x80-\xff])[\w\x80-\xff]")
NO_HOLE = (1 << 62, 1 << 62)
Names = str | Iterable[str]  # words of a text, or one by one

# strings and comments that many languages have; an open one ends with its line or the text
OPAQUE_FLAGS = re.DOTALL | re.MULTILINE
LINE_COMMENT = rb"//[^\n]*"
BLOCK_COMMENT = rb"/\*.*?(?:\*/|\Z)"
DOUBLE_QUOTED = rb'"(?:\\.|[^"\\\n])*+"?'
SINGLE_QUOTED = rb"'(?:\\.|[^'\\\n])*+'?"


def _words_of(names: Names) -> Iterable[str]:
    return names.split() if isinstance(names, str) else names


def nested(opening: bytes, closing: bytes, other: bytes) -> bytes:
    """Return a pattern of brackets that nest six deep, with other text between them."""
    inside = other
    for _ in range(6):
        inside = rb"%b(?:%b%b%b%b)*+" % (other, opening, inside, closing, other)
    return opening + inside + closing


PARENTHESES = nested(rb"\(", rb"\)", rb"[^()]*+")
BRACES = nested(rb"\{", rb"\}", rb"[^{}]*+")


def line_feeds(data: bytes) -> bytes:
    r"""Return the text with a line feed for each carriage return alone, which ends a line too.

    >>> line_feeds(b"a\rb\r\nc")
    b'a\nb\r\nc'
    """
    return LONE_CR.sub(b"\n", data) if b"\r" in data else data


def parse(
    parser: tree_sitter.Parser, data: bytes, limit: float = MAX_PARSE_SECONDS
) -> tree_sitter.Tree:
    """Parse UTF-8 text. Errors: it takes longer than the limit."""
    data = line_feeds(data)
    if len(data) < MAX_UNTIMED_BYTES:
        return parser.parse(data)
    # at the end of a text, one step may take time and memory quadratic in what is open: first a
    # separate process, which can be stopped at any point, tries a long one
    if len(data) > MAX_UNTRIED_BYTES:
        memory = PARSE_MEMORY_BYTES + PARSE_MEMORY_PER_BYTE * len(data)
        if in_child(lambda: bool(parser.parse(data)), limit, memory) is None:
            raise _too_slow(limit, ", or too much memory")
    end = thread_time() + limit

    # only a parse that reads by a function can be stopped: all at once, so that it reads once
    def read(offset: int, _point: tree_sitter.Point) -> bytes:
        return data[offset:]

    def late(_offset: int, _error: bool) -> bool:
        return thread_time() > end

    try:
        return parser.parse(read, progress_callback=late)
    except BaseException as error:  # Ctrl-C stops it too
        parser.reset()  # or the next text would be taken for the rest of this one
        if isinstance(error, ValueError):
            raise _too_slow(limit) from None
        raise


def words(pointer: object, but: str = "") -> frozenset[str]:
    """Return the words in a grammar's table that are no nodes, its keywords, but some."""
    language = tree_sitter.Language(pointer)
    kinds = range(language.node_kind_count)
    visible = (n for n in kinds if language.node_kind_is_visible(n))
    names = (language.node_kind_for_id(n) for n in visible if not language.node_kind_is_named(n))
    return frozenset(name for name in names if name and name.isidentifier()) - {*but.split()}


def _too_slow(limit: float, or_more: str = "") -> UserError:
    return UserError(f"parsing takes longer than {limit:g} s{or_more}", "leave the record out")


def blank_out(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    """Replace matches of a pattern by spaces, so that places and line ends stay.

    >>> blank_out(re.compile(rb"(?<=class )API"), b"class API A {")
    b'class     A {'
    """
    return pattern.sub(lambda match: match[0].translate(TO_SPACES), data)


def overwrite(data: bytearray, start: int, end: int, text: bytes = b"") -> None:
    """Write a text at a place, and spaces after it up to `end`; line ends stay."""
    data[start:end] = text + data[start + len(text) : end].translate(TO_SPACES)


class Grammar:
    """Grammar of a language, as the `language()` of a grammar package gives it: where names are.

    `take` are the kinds of leaves that are names, alone or under a parent (`command_name>word`),
    `skip` kinds of nodes without names, named or literal; a kind that the grammar lacks is a bug.
    With types, `type_names` are taken too; without, `types` are skipped: a kind, a kind under a
    parent (`annotation>identifier`), a field of one (`parameter.type`). `never` are words that the
    grammar mistakes for names; `reserved` words are skipped in code that does not parse. No name is
    in text that `keywords` match, the places of words that may be names elsewhere, nor in what a
    pattern of `within` matches inside nodes of its kind (`parent>kind`: with such a child); nor,
    without types, in what `type_text` match, types that have no node of their own. `member` is a
    pattern for the start of a class member: with one, code that does not parse is read inside a
    class too. `opaque` are patterns of strings, whole with the code in them, and comments: in code
    that does not parse, nothing is taken there, whatever the tree. The first one that matches at a
    place counts; what its group `code` matches only looks like the start of a string. `repair`
    returns code that does not parse as the grammar understands it, each character in its place.
    """

    def __init__(
        self,
        pointer: object,
        *,
        take: Names,
        skip: Names,
        type_names: Names = (),
        types: Names = (),
        never: Names = (),
        reserved: Names = (),
        keywords: Iterable[str] = (),
        within: Mapping[str, bytes] = MappingProxyType({}),
        type_text: Iterable[str] = (),
        member: str | None = None,
        opaque: Iterable[bytes] = (),
        repair: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.pointer, self.opaque, self.repair = pointer, tuple(opaque), repair
        self.language = tree_sitter.Language(pointer)
        self.parser = tree_sitter.Parser(self.language)
        self.never = frozenset(_words_of(never))
        self.reserved = self.never.union(_words_of(reserved))
        self.member = re.compile(member) if member else None
        # several patterns that begin with a letter are faster than one with alternatives
        self._nameless = [
            [re.compile(pattern) for pattern in patterns]
            for patterns in ((*keywords, *type_text), keywords)
        ]
        self.kinds: dict[str, set[int]] = {}  # the numbers of each: an alias has several
        for number in range(self.language.node_kind_count):
            self.kinds.setdefault(self.language.node_kind_for_id(number) or "", set()).add(number)
        (names, self._named), (nameless, _) = self._rules(take), self._rules(skip)
        self._within = [(*self._rules([kind]), re.compile(rule)) for kind, rule in within.items()]
        parents = {*self._named}.union(*((*kinds, *under) for kinds, under, _ in self._within))
        names_and_types = names | self._rules(type_names)[0]
        hidden, self._under = self._rules(types)
        self._with_types = self._actions(nameless, parents, names_and_types)
        self._without_types = self._actions(nameless | hidden, parents.union(self._under), names)

    def _rules(self, names: Names) -> tuple[set[int], dict[int, set[int | str]]]:
        """Return some kinds, and of those under a kind of parent the kinds or fields by parent."""
        alone, under = set[int](), dict[int, set[int | str]]()
        for name in _words_of(names):
            parent, sign, child = re.split("([>.]|$)", name, maxsplit=1)
            if not sign:
                alone |= self.kinds[parent]
            for kind in self.kinds[parent] if sign else ():
                under.setdefault(kind, set()).update(self.kinds[child] if sign == ">" else {child})
        return alone, under

    def _actions(self, skip: Iterable[int], under: Iterable[int], take: Iterable[int]) -> list[int]:
        """Return the action at a node of each kind, by the kind's number."""
        kinds = range(self.language.node_kind_count)
        actions = [ENTER] * (ERROR_KIND + 1)
        # unnamed nodes have no parts
        unnamed = (kind for kind in kinds if not self.language.node_kind_is_named(kind))
        for some, action in ((unnamed, SKIP), (skip, SKIP), (under, HIDE), (take, TAKE)):
            for kind in some:
                actions[kind] = action
        return actions

    def leaves(self, text: str, *, types: bool = False) -> list[Span]:
        """Return every leaf of a kind to take, outside nodes to skip, in text order.

        A text that takes too long to parse raises.
        """
        data = text.encode("utf-8")
        tree, shift = self._parse(text, data)
        leaves = self._walk(tree, CLASS_FRAME[0][:shift] + data, types)
        if shift:
            end = shift + len(data)
            leaves = [(a - shift, b - shift) for a, b in leaves if shift <= a and b <= end]
        if self.repair:  # which may have made a name of a part of a word
            leaves = [(a, b) for a, b in leaves if not INSIDE_WORD.match(data, a)]
        barred = self.never
        if tree.root_node.has_error:
            # a missing name is an empty one, and reserved words may be taken for names
            leaves = [(start, end) for start, end in leaves if start < end]
            barred = self.reserved
            opaque = re.compile(b"|".join(self.opaque) or rb"(?!)", OPAQUE_FLAGS)
            found = opaque.finditer(line_feeds(data))
            holes = [match.span() for match in found if match.lastgroup != "code"]
            leaves = spans_outside(leaves, holes)
        spans = from_bytes(text, data, leaves)
        for pattern in self._nameless[types]:
            if holes := [match.span() for match in pattern.finditer(text)]:
                spans = spans_outside(spans, holes)
        return [span for span in spans if text[span[0] : span[1]] not in barred]

    def _parse(self, text: str, data: bytes) -> tuple[tree_sitter.Tree, int]:
        """Return the tree of a text, and where the text starts in it.

        The first reading without an error counts: as it is, or inside a class. A text that looks
        like a class member is read inside a class first, so that clean code is parsed once. If both
        have errors, the one tried first counts.
        """
        if self.member is None:
            tree = parse(self.parser, data)
            if self.repair and tree.root_node.has_error and (seen := self.repair(data)) != data:
                tree = parse(self.parser, seen)
            return tree, 0
        trees: list[tuple[tree_sitter.Tree, int]] = []
        for head, tail in (
            (CLASS_FRAME, BARE_FRAME) if self.member.match(text) else (BARE_FRAME, CLASS_FRAME)
        ):
            tree = parse(self.parser, head + data + tail)
            trees.append((tree, len(head)))
            if not tree.root_node.has_error:
                return trees[-1]
        return trees[0]

    def _walk(self, tree: tree_sitter.Tree, data: bytes, types: bool) -> list[Span]:
        actions = self._with_types if types else self._without_types
        cursor = tree.walk()
        into, along, out = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        leaves: list[Span] = []
        hidden: list[Span] = []
        take = leaves.append
        # a cursor over leaves costs half of the parse; queries cost as much, and leave strings and
        # types to be sorted out; recursion costs more (and has a depth limit)
        while True:
            node = cursor.node
            action = actions[node.kind_id]  # type: ignore[union-attr]
            if action == TAKE:
                take(node.byte_range)  # type: ignore[union-attr]
            elif action:  # half of the nodes are to skip
                if action == HIDE:
                    leaves += self._taken(node)  # type: ignore[arg-type]
                    hidden += self._hidden(node, data, types)  # type: ignore[arg-type]
                if into():
                    continue
            while not along():
                if not out():
                    return spans_outside(leaves, sorted(hidden)) if hidden else leaves

    def _taken(self, node: tree_sitter.Node) -> Iterator[Span]:
        """Return the children of a node that are names under it."""
        kinds = self._named.get(node.kind_id, ())
        return (child.byte_range for child in node.children if child.kind_id in kinds)

    def _hidden(self, node: tree_sitter.Node, data: bytes, types: bool) -> Iterator[Span]:
        """Return the children of a node that are types, and the keywords within it."""
        rules = set[int | str]() if types else self._under.get(node.kind_id, set())
        for index, child in enumerate(node.children if rules else ()):
            name = node.field_name_for_child(index)
            if child.kind_id in rules or name in rules:
                yield child.byte_range
        for kinds, under, pattern in self._within:
            child_kinds = under.get(node.kind_id, set())
            if node.kind_id in kinds or any(
                child.kind_id in child_kinds for child in node.children
            ):
                yield from (match.span() for match in pattern.finditer(data, *node.byte_range))


def from_bytes(text: str, data: bytes, spans: list[Span]) -> list[Span]:
    """Convert spans of a text's UTF-8 bytes to spans of its characters.

    `spans` are in text order and do not overlap.

    >>> from_bytes("é = x", "é = x".encode(), [(0, 2), (5, 6)])
    [(0, 1), (4, 5)]
    """
    if len(data) == len(text):
        return spans
    in_characters: list[Span] = []
    character, byte = 0, 0
    for start, end in spans:
        begin = character + len(data[byte:start].decode())
        character, byte = begin + len(data[start:end].decode()), end
        in_characters.append((begin, character))
    return in_characters


def spans_outside(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Return the spans that are not in one of the holes; holes are in order of their start.

    >>> spans_outside([(0, 1), (2, 3), (4, 5)], [(2, 4)])
    [(0, 1), (4, 5)]
    """
    kept: list[Span] = []
    rest = iter(holes)
    start, end = next(rest, NO_HOLE)
    for span in spans:
        while span[0] >= end:
            start, end = next(rest, NO_HOLE)
        if span[1] <= start:
            kept.append(span)
    return kept
