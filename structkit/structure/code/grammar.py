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

MAX_PARSE_SECONDS = 5.0  # of CPU time: a function takes 0.0001, a megabyte 0.2
PARSE_MEMORY_BYTES = 1 << 30
PARSE_MEMORY_PER_BYTE = 200  # a tree takes 200 times the size of its code
MAX_IN_PROCESS_BYTES = 8_000  # a child process tries longer texts first
MAX_UNTIMED_BYTES = 1_000  # of a text without a time limit: the worst known one takes 0.2 s
# what a walk does at a node; SELECT: some children are names, or have none
SKIP, TAKE, ENTER, SELECT = range(4)
ERROR_KIND = 0xFFFF  # tree-sitter's number for nodes of errors
TO_SPACES = bytes(ord("\n" if byte == ord("\n") else " ") for byte in range(256))
LONE_CR = re.compile(rb"\r(?!\n)")
# what is parsed before and after a text: nothing, or a class around it
BARE_FRAME = (b"", b"")
CLASS_FRAME = (b"class A {", b"\n}")
INSIDE_WORD = re.compile(rb"(?<=[\w\x80-\xff])[\w\x80-\xff]")
NO_HOLE = (1 << 62, 1 << 62)  # it begins after any span
Names = str | Iterable[str]  # names in one text, separated by spaces, or one by one

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
    if len(data) > MAX_IN_PROCESS_BYTES:
        memory = PARSE_MEMORY_BYTES + PARSE_MEMORY_PER_BYTE * len(data)
        if in_child(lambda: bool(parser.parse(data)), limit, memory) is None:
            raise _too_slow(limit, ", or too much memory")
    end = thread_time() + limit

    # only a parse that reads by a function can be stopped; this one reads the whole text at once
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


def keywords_of(pointer: object, without: str = "") -> frozenset[str]:
    """Return the keywords of a grammar, but some: kinds of unnamed nodes that are words."""
    language = tree_sitter.Language(pointer)
    kinds = range(language.node_kind_count)
    visible = (n for n in kinds if language.node_kind_is_visible(n))
    names = (language.node_kind_for_id(n) for n in visible if not language.node_kind_is_named(n))
    return frozenset(name for name in names if name and name.isidentifier()) - {*without.split()}


def _too_slow(limit: float, detail: str = "") -> UserError:
    return UserError(f"parsing takes longer than {limit:g} s{detail}", "leave the record out")


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
    """Grammar of a language, the `language()` of its package, and where its trees have names.

    A kind of node may be limited to a parent (`command_name>word`), or stand for the field of a
    parent (`parameter.type`, of `types`). A kind that the grammar lacks is a bug.

    - `take`: kinds of leaves that are names. `type_names`: further ones, if types are asked for.
    - `skip`: kinds of nodes without names. `types`: further ones, unless types are asked for.
    - `never`: words that the grammar mistakes for names. `reserved`: words that are no names in
      code that does not parse.
    - `keywords`: patterns of text without names, where words stand that are names elsewhere.
      `type_text`: further ones, unless types are asked for: types without a node of their own.
    - `within`: the same, inside nodes of a kind; for `parent>kind`, in parents with such a child.
    - `member`: a pattern for the start of a class member. With one, code that does not parse is
      also read inside a class.
    - `opaque`: patterns of strings, with the code in them, and of comments. Code that does not
      parse has no names there. The first pattern that matches at a place counts; what its group
      `code` matches only looks like the start of a string.
    - `repair`: returns code that does not parse as the grammar understands it, with each character
      in its place.
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
        # of text without names, without types and with them: several patterns that begin with a
        # letter are faster than one with alternatives
        self._nameless_text = [
            [re.compile(pattern) for pattern in patterns]
            for patterns in ((*keywords, *type_text), keywords)
        ]
        self.kinds: dict[str, set[int]] = {}  # the numbers of each: an alias has several
        for number in range(self.language.node_kind_count):
            self.kinds.setdefault(self.language.node_kind_for_id(number) or "", set()).add(number)
        names, self._name_children = self._rules(take)
        skipped, _ = self._rules(skip)
        skipped_types, self._type_children = self._rules(types)
        self._within = [(*self._rules([kind]), re.compile(rule)) for kind, rule in within.items()]
        parents = {*self._name_children}
        for kinds, children, _ in self._within:
            parents.update(kinds, children)
        names_and_types = names | self._rules(type_names)[0]
        self._with_types = self._actions(skipped, parents, names_and_types)
        parents.update(self._type_children)
        self._without_types = self._actions(skipped | skipped_types, parents, names)

    def _rules(self, names: Names) -> tuple[set[int], dict[int, set[int | str]]]:
        """Return the kinds of nodes, and by kind of a parent its children's kinds or fields."""
        alone, children = set[int](), dict[int, set[int | str]]()
        for name in _words_of(names):
            kind, sign, child = re.split("([>.]|$)", name, maxsplit=1)
            if not sign:
                alone |= self.kinds[kind]
                continue
            for parent in self.kinds[kind]:
                chosen = children.setdefault(parent, set())
                chosen.update(self.kinds[child] if sign == ">" else {child})
        return alone, children

    def _actions(
        self, skip: Iterable[int], parents: Iterable[int], take: Iterable[int]
    ) -> list[int]:
        """Return the action at a node of each kind, by the kind's number; the last one counts."""
        kinds = range(self.language.node_kind_count)
        actions = [ENTER] * (ERROR_KIND + 1)
        # unnamed nodes have no parts
        unnamed = (kind for kind in kinds if not self.language.node_kind_is_named(kind))
        for numbers, action in ((unnamed, SKIP), (skip, SKIP), (parents, SELECT), (take, TAKE)):
            for number in numbers:
                actions[number] = action
        return actions

    def leaves(self, text: str, *, types: bool = False) -> list[Span]:
        """Return every leaf of a kind to take, outside nodes to skip, in text order.

        A text that takes too long to parse raises.
        """
        data = text.encode("utf-8")
        tree, shift = self._parse(text, data)
        leaves = self._walk(tree, CLASS_FRAME[0][:shift] + data, types)
        if shift:  # without the names around the text
            after = shift + len(data)
            leaves = [
                (start - shift, end - shift)
                for start, end in leaves
                if shift <= start and end <= after
            ]
        if self.repair:  # which may have made a name of a part of a word
            leaves = [leaf for leaf in leaves if not INSIDE_WORD.match(data, leaf[0])]
        barred = self.never
        if tree.root_node.has_error:
            # a missing name is an empty one, and reserved words may be taken for names
            leaves = [(start, end) for start, end in leaves if start < end]
            barred = self.reserved
            opaque = re.compile(b"|".join(self.opaque) or rb"(?!)", OPAQUE_FLAGS)
            matches = opaque.finditer(line_feeds(data))
            holes = [match.span() for match in matches if match.lastgroup != "code"]
            leaves = spans_outside(leaves, holes)
        spans = from_bytes(text, data, leaves)
        for pattern in self._nameless_text[types]:
            if holes := [match.span() for match in pattern.finditer(text)]:
                spans = spans_outside(spans, holes)
        return [span for span in spans if text[span[0] : span[1]] not in barred]

    def _parse(self, text: str, data: bytes) -> tuple[tree_sitter.Tree, int]:
        """Return the tree of a text, and where the text starts in it.

        A text is read as it is, and if that has errors, inside a class; the other way round if it
        begins like a class member. If both have errors, the first reading counts.
        """
        if self.member is None:
            tree = parse(self.parser, data)
            if self.repair and tree.root_node.has_error and (repaired := self.repair(data)) != data:
                tree = parse(self.parser, repaired)
            return tree, 0
        trees: list[tuple[tree_sitter.Tree, int]] = []
        frames = [BARE_FRAME, CLASS_FRAME]
        if self.member.match(text):
            frames.reverse()
        for head, tail in frames:
            tree = parse(self.parser, head + data + tail)
            trees.append((tree, len(head)))
            if not tree.root_node.has_error:
                return trees[-1]
        return trees[0]

    def _walk(self, tree: tree_sitter.Tree, data: bytes, types: bool) -> list[Span]:
        """Return the names in a tree whose text is `data`."""
        actions = self._with_types if types else self._without_types
        cursor = tree.walk()
        to_child, to_sibling = cursor.goto_first_child, cursor.goto_next_sibling
        to_parent = cursor.goto_parent
        leaves: list[Span] = []
        nameless: list[Span] = []
        take = leaves.append
        # a cursor over leaves costs half of the parse; queries cost as much, and leave strings and
        # types to be sorted out; recursion costs more (and has a depth limit)
        while True:
            node = cursor.node
            action = actions[node.kind_id]  # type: ignore[union-attr]
            if action == TAKE:
                take(node.byte_range)  # type: ignore[union-attr]
            elif action:  # not SKIP, as for half of the nodes
                if action == SELECT:
                    leaves += self._names_under(node)  # type: ignore[arg-type]
                    nameless += self._nameless_under(node, data, types)  # type: ignore[arg-type]
                if to_child():
                    continue
            while not to_sibling():
                if not to_parent():
                    return spans_outside(leaves, sorted(nameless)) if nameless else leaves

    def _names_under(self, node: tree_sitter.Node) -> Iterator[Span]:
        """Return the children of a node that are names under it."""
        kinds = self._name_children.get(node.kind_id, ())
        return (child.byte_range for child in node.children if child.kind_id in kinds)

    def _nameless_under(self, node: tree_sitter.Node, data: bytes, types: bool) -> Iterator[Span]:
        """Yield the children of a node that are types, unless asked for, and keywords within it."""
        type_children = self._type_children.get(node.kind_id)
        if type_children and not types:
            for index, child in enumerate(node.children):
                field = node.field_name_for_child(index)
                if child.kind_id in type_children or field in type_children:
                    yield child.byte_range
        for kinds, children, pattern in self._within:
            chosen = children.get(node.kind_id, set())
            if node.kind_id in kinds or any(child.kind_id in chosen for child in node.children):
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
    later_holes = iter(holes)
    start, end = next(later_holes, NO_HOLE)
    for span in spans:
        while span[0] >= end:
            start, end = next(later_holes, NO_HOLE)
        if span[1] <= start:
            kept.append(span)
    return kept
