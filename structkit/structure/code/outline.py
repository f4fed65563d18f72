"""Definitions of a program: its functions with their documentation, and their containers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import tree_sitter

from structkit.structure.code.bodies import without_broken_pieces
from structkit.structure.code.grammar import Grammar, blank_out, line_feeds

MAX_SCOPES = 16  # containers of a definition to name: generated code may have thousands
MAX_NAME_CHARACTERS = 200
# kinds of nodes that stand before a definition and belong to it
ATTRIBUTES = frozenset(
    """
    attribute_item inner_attribute_item attribute_list attribute_declaration attribute_specifier
    decorator annotation marker_annotation annotated_expression
    """.split()
)
# signs that the first comment of a file is about the file
FILE_COMMENT = re.compile(
    r"""
    @(?:file | fileoverview | overview | licen[sc]e | packagedocumentation | module)\b
    | \bcopyright\b
    | \blicensed\ under\b
    | \bspdx-license
    """,
    re.IGNORECASE | re.VERBOSE,
)
# how a comment and each of its lines begin, and how a comment ends
COMMENT_MARKS = r"/\*[*!]*(?!/)|\*+(?!/)|//[/!]*|#+"
COMMENT_END = re.compile(r"(?<!\*)\*++/[ \t]*$", re.MULTILINE)
# a key that is a string or computed, alone or after an object
QUOTED_KEY = re.compile(
    r"""
    (?P<owner>[^\[\]"'`]*)
    (?:
        (?P<bracket>\[\s*)?  (?P<quote>["'`])  (?P<literal>.+)  (?P=quote)  (?(bracket)\s*\])
        | (?P<computed>\[.+\])
    )
    $
    """,
    re.VERBOSE,
)
RULER_LINE = re.compile(r"^[ \t]*[-=*#~_/+]{3,}[ \t]*$\n?", re.MULTILINE)

# a long run of signs is no code, but a query takes time quadratic in its length
SIGN_RUN = re.compile(rb"(?<=[^\w\s\"'`]{8})(?:[^\w\s\"'`]\s*+){200,}+")
FUNCTION = "function"  # the kind of a definition; other kinds are those of scopes
ByteSpan = tuple[int, int]
# the comments and attributes before a definition, nearest first, and the code before these
Leading = tuple[list[tree_sitter.Node], tree_sitter.Node | None]
LastNode = Callable[[tree_sitter.Node], tree_sitter.Node]  # `Outline.last`


@dataclass(frozen=True)
class Definition:
    """Function or scope, which holds definitions. Bytes and rows count from 0."""

    node: tree_sitter.Node
    whole: tree_sitter.Node  # with its decorators or `export`
    leading: Leading
    start: int  # the first byte, attributes included
    end: int  # the byte after the last one
    row: int  # the first one, attributes included
    name_row: int
    end_row: int  # the last one
    kind: str
    name: str
    owner: str  # the type of a method that is defined outside it
    parent: Definition | None

    @property
    def outer(self) -> list[Definition]:
        """Its containers, outermost first."""
        outer, parent = list[Definition](), self.parent
        while parent and len(outer) < MAX_SCOPES:
            outer.append(parent)
            parent = parent.parent
        return outer[::-1]

    @property
    def scope(self) -> str:
        """Its containers, in words: `class A, function f`."""
        labels = [container.label for container in self.outer]
        return ", ".join([*labels, self.owner] if self.owner else labels)

    @property
    def label(self) -> str:
        """Its kind and name, as in the scope of its contents."""
        return f"{self.kind} {self.own_path}"

    @property
    def own_path(self) -> str:
        """Its name, after the type of a method that is defined outside it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @cached_property
    def top(self) -> int:
        """Its first row, with the comments directly before it."""
        top = self.whole.start_point.row
        for node in self.leading[0]:
            if last_row(node) < top - 1 or not leads(node):
                break
            top = node.start_point.row
        return min(top, self.row)

    @cached_property
    def path(self) -> str:
        """Its name after the names of its containers: `A.f`."""
        return ".".join(definition.own_path for definition in (*self.outer, self))


@dataclass(frozen=True)
class DocComments:
    """Documentation of functions in a language, by the rule of the language's own tool.

    Comments precede the function and its attributes, or `docstring` finds a string in it. `gap` is
    what may come between them and the function:

    - "": nothing. "blank": blank lines.
    - "run": blank lines and comments that do not document, but no blank line in a run of comments.
    - "any": these, and blank lines in a run of comments.

    The last block comment counts, or the last run of line comments; with `every`, all of them.
    """

    begin: str = ""  # pattern for the start of a comment that documents
    gap: Literal["", "blank", "run", "any"] = ""
    every: bool = False
    marks: str = COMMENT_MARKS  # pattern for the start of a comment's lines, which is no text
    markup: Callable[[str], str] | None = None  # returns the text without its tags
    skip: str = r"(?!)"  # pattern for comments of tools, which may stand between
    between: Collection[str] = ()  # kinds of nodes that may, as those of ATTRIBUTES may
    attribute: str = r"(?!)"  # pattern for an attribute that documents: its last group is the text
    hidden: str = ""  # pattern for parts of a comment that are no documentation
    file_start: Collection[str] = ("hash_bang_line",)  # kinds of nodes before a file's comment
    overloads: Collection[str] = ()  # kinds of signatures whose comment documents the function
    docstring: Callable[[tree_sitter.Node], str] | None = None

    def text_of(self, definition: Definition) -> str:
        """Return a function's documentation without comment markers, or ""."""
        if self.docstring:
            return self.docstring(definition.node)
        (leading, before), row = definition.leading, definition.whole.start_point.row
        if not self.every:  # only comments before all attributes count
            counts = [count for count, node in enumerate(leading, 1) if node.type in ATTRIBUTES]
            if counts:
                leading, row = leading[counts[-1] :], definition.row
        comments = list(self._chosen(leading, row))[::-1]
        while not comments and (overload := self._overload(before, definition.node)):
            leading, before = self.leading(overload)
            comments = list(self._chosen(leading, overload.start_point.row))[::-1]
        begins_file = before is None or before.type in self.file_start
        if comments and begins_file and self._is_of_file(leading, comments):
            return ""
        text = "\n".join(comments)
        if self.hidden:
            text = re.sub(self.hidden, "", text)
        return comment_text(text, self.marks, self.markup)

    def leading(self, node: tree_sitter.Node, last: LastNode | None = None) -> Leading:
        """Return the comments and attributes before a node; `last` is that of the outline."""
        leading: list[tree_sitter.Node] = []
        for other in _nodes_before(node, last):
            if leads(other) or other.type in self.between:
                leading.append(other)
                continue
            row = last_row(last(other) if last else other)
            # a comment belongs to the code that ends on its line
            while row < node.start_point.row and leading and leading[-1].start_point.row == row:
                leading.pop()
            return leading, other
        return leading, None

    def first_node(
        self, leading: list[tree_sitter.Node], node: tree_sitter.Node
    ) -> tree_sitter.Node:
        """Return the first node of a definition's code: its first attribute, or itself.

        With `every`, only attributes after its documentation count.
        """
        for other in leading:
            begin = self.begin if is_comment(other) else self.attribute
            if self.every and re.match(begin, _text(other)):
                break
            if other.type in ATTRIBUTES:
                node = other
        return node

    def _chosen(self, leading: list[tree_sitter.Node], row: int) -> Iterator[str]:
        """Yield the texts of comments that document what begins on a row, nearest first."""
        in_run = False  # whether a comment was chosen
        for other in leading:
            # blank lines, which the gap may not have here
            if last_row(other) + 1 < row and (not self.gap or in_run and self.gap != "any"):
                return
            row, text = other.start_point.row, _text(other)
            if not is_comment(other):
                match = re.match(self.attribute, text)
                if match:
                    yield re.sub("^", "///", match[match.lastindex or 0], flags=re.M)
                if not self.every and (match or in_run):
                    return
            elif re.match(self.begin, text) and not re.match(self.skip, text):
                is_block = text.startswith("/*") and not self.every
                if in_run and is_block:
                    return
                in_run = True
                yield text
                if is_block:
                    return
            elif in_run and not self.every:
                return
            elif self.gap in ("", "blank") and not re.match(self.skip, text):
                return

    @staticmethod
    def _is_of_file(leading: list[tree_sitter.Node], comments: list[str]) -> bool:
        """Return whether the comments are the first of a file, and about the file."""
        is_first = comments[0] == _text(leading[-1])
        return is_first and FILE_COMMENT.search("\n".join(comments)) is not None

    def _overload(
        self, before: tree_sitter.Node | None, node: tree_sitter.Node
    ) -> tree_sitter.Node | None:
        """Return the node before a function's if it is a signature of the same function."""
        whole = before.prev_sibling if before and before.type == ";" else before
        signature = whole
        if whole and whole.type == "export_statement":
            signature = whole.named_children[-1]
        if signature is None or signature.type not in self.overloads:
            return None
        names = [each.child_by_field_name("name") for each in (signature, node)]
        return whole if len({name.text for name in names if name}) == 1 else None


@dataclass(frozen=True)
class Prepared:
    """Code as its grammar reads it, with every character in its place."""

    data: bytes
    # owner and name of each function that a macro defines, by the place of its name in `data`
    macro_names: Mapping[int, tuple[str, str]] = field(default_factory=dict)


def owner_and_name(text: str) -> tuple[str, str]:
    """Return the type or object in front of a name, if any, and the name.

    >>> owner_and_name("Foo::bar"), owner_and_name("foo.bar:baz"), owner_and_name("bar")
    (('Foo', 'bar'), ('foo.bar', 'baz'), ('', 'bar'))
    >>> owner_and_name("'x.y'"), owner_and_name("Foo['x.y']"), owner_and_name("[Symbol.iterator]")
    (('', 'x.y'), ('Foo', 'x.y'), ('', '[Symbol.iterator]'))
    """
    if text.isidentifier():
        return "", text
    if text.endswith(("]", "'", '"', "`")) and (match := QUOTED_KEY.match(text)):
        return match["owner"], match["literal"] or match["computed"]
    for sign in ("::", ":", "."):
        owner, separator, name = text.rpartition(sign)
        if separator and name:
            return owner, name
    return "", text


def named_scopes(node: str, kinds: str) -> dict[str, str]:
    """Return scopes whose nodes are named after their kinds.

    >>> named_scopes("{}_item", "struct enum")
    {'struct_item': 'struct', 'enum_item': 'enum'}
    """
    return {node.format(kind): kind for kind in kinds.split()}


@dataclass(frozen=True)
class Outline:
    """Definitions in a language's trees; each language's file declares one.

    Nodes are written as in a query of tree-sitter, without its outer parentheses. The first pattern
    that matches a node counts.
    """

    grammar: Grammar
    functions: tuple[str, ...]  # nodes, or queries that capture them as `@function`
    comments: DocComments
    scopes: Mapping[str, str] = field(default_factory=dict)  # the kind of each: a word like `class`
    # for kinds of nodes without a field `name`, where the name is: the field, the kind of the
    # child, or a function that returns its bytes
    names: Mapping[str, str | Callable[[tree_sitter.Node], ByteSpan | None]] = field(
        default_factory=dict
    )
    # drops a node that only the text or its container show to be no function
    is_function: Callable[[tree_sitter.Node, ParsedText, Definition | None], bool] | None = None
    # the last node of a definition whose node also holds comments on the following one
    last: LastNode | None = None
    # the type of a method that is defined outside it, from its node or from its name
    owner: Callable[[tree_sitter.Node], str] | None = None
    split_name: Callable[[str], tuple[str, str]] = owner_and_name
    # kinds of nodes around a definition that belong to it: decorators, `export`
    around: Collection[str] = ()
    # a pattern, and the grammar of texts in which it occurs
    other: tuple[str, Grammar] | None = None
    prepare: Callable[[bytes], Prepared] | None = None  # blanks code that the grammar cannot read
    repair: Callable[[bytes], bytes] | None = None  # does so if the tree has errors
    # the words before `{`; with a group `container`, definitions are inside. Errors in a body
    # after other heads are blanked
    heads: re.Pattern[bytes] | None = None
    keywords: Collection[str] = ()  # no names of functions …
    members: Collection[str] = ()  # … but of these kinds of nodes

    def parse(self, text: str, data: bytes) -> ParsedText:
        """Parse a text, whose bytes are `data`."""
        grammar = self.grammar
        if self.other and re.search(self.other[0], text):
            grammar = self.other[1]
        plain = line_feeds(data)
        prepared = self.prepare(plain) if self.prepare else Prepared(plain)
        tree = tree_of_definitions = grammar.parser.parse(prepared.data)
        query = self._queries[grammar]
        if tree.root_node.has_error:
            tree, tree_of_definitions = self._repaired(tree, prepared.data, grammar, query)
        return ParsedText(self, data, tree, tree_of_definitions, query, prepared.macro_names)

    def _repaired(
        self, tree: tree_sitter.Tree, data: bytes, grammar: Grammar, query: tree_sitter.Query
    ) -> tuple[tree_sitter.Tree, tree_sitter.Tree]:
        """Return the tree of code with errors, and the tree to find definitions in.

        The second one is without the bodies that have errors, if it has more functions so.
        """
        repair = self.repair or grammar.repair
        repaired = blank_out(SIGN_RUN, data)
        if repair:
            repaired = repair(repaired)
        if repaired != data:
            tree = grammar.parser.parse(repaired)
        if self.heads and tree.root_node.has_error:
            blanked = without_broken_pieces(repaired, grammar, self.heads)
            sound = grammar.parser.parse(blanked)
            if _function_count(sound, query) > _function_count(tree, query):
                return tree, sound
        return tree, tree

    @cached_property
    def _queries(self) -> dict[Grammar, tree_sitter.Query]:
        grammars = [self.grammar]
        if self.other:
            grammars.append(self.other[1])
        queries = [
            node if f"@{FUNCTION}" in node else f"({node}) @{FUNCTION}" for node in self.functions
        ]
        queries += [f"({node}) @{kind}" for node, kind in self.scopes.items()]
        source = "\n".join(queries)
        return {grammar: tree_sitter.Query(grammar.language, source) for grammar in grammars}


def _function_count(tree: tree_sitter.Tree, query: tree_sitter.Query) -> int:
    captured = tree_sitter.QueryCursor(query).captures(tree.root_node)
    return len(captured.get(FUNCTION, ()))


@dataclass(frozen=True)
class ParsedText:
    """A parsed text."""

    outline: Outline
    data: bytes
    tree: tree_sitter.Tree
    tree_of_definitions: tree_sitter.Tree  # without the bodies that have errors
    query: tree_sitter.Query
    macro_names: Mapping[int, tuple[str, str]]  # as of `Prepared`

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every definition with a name, in the order in which they start."""
        definitions: list[Definition] = []
        containers: list[Definition] = []
        is_function = self.outline.is_function
        for node, kind in self._nodes():
            while containers and containers[-1].end <= node.start_byte:
                containers.pop()
            parent = containers[-1] if containers else None
            if kind == FUNCTION and is_function and not is_function(node, self, parent):
                continue
            if definition := self._definition(node, kind, parent):
                containers.append(definition)
                definitions.append(definition)
        return definitions

    def doc_comment(self, definition: Definition) -> str:
        """Return the documentation of a function; empty if there is none."""
        return self.outline.comments.text_of(definition)

    def _nodes(self) -> list[tuple[tree_sitter.Node, str]]:
        """Return the nodes of definitions with their kinds, in the order in which they start."""
        captured = tree_sitter.QueryCursor(self.query).captures(self.tree_of_definitions.root_node)
        nodes: dict[int, tuple[tree_sitter.Node, str]] = {}
        for kind in dict.fromkeys((FUNCTION, *self.outline.scopes.values())):
            for node in captured.get(kind, ()):
                nodes.setdefault(node.id, (node, kind))
        return sorted(  # of two with the same start, the outer one first
            nodes.values(),
            key=lambda pair: (pair[0].start_byte, -pair[0].end_byte, pair[1] == FUNCTION),
        )

    def _name(self, node: tree_sitter.Node, span: ByteSpan, kind: str) -> tuple[str, str]:
        """Return the type of a method that is defined outside it, if any, and the name."""
        owner, name = self.macro_names.get(span[0]) or self._name_at(span, kind)
        # `exports.default` is a name
        is_keyword = name in self.outline.keywords and not owner
        if kind == FUNCTION and is_keyword and node.type not in self.outline.members:
            return "", ""
        return owner, name

    def _name_at(self, span: ByteSpan, kind: str) -> tuple[str, str]:
        text = self.data[slice(*span)].decode("utf-8", "replace")
        text = " ".join(text.split())[:MAX_NAME_CHARACTERS]
        return self.outline.split_name(text) if kind == FUNCTION else ("", text.strip("\"'`"))

    def _span_of_name(self, node: tree_sitter.Node) -> ByteSpan | None:
        where = self.outline.names.get(node.type, "name")
        if callable(where):
            return where(node)
        children = (child for child in node.children if child.type == where)
        named = node.child_by_field_name(where) or next(children, None)
        return named.byte_range if named else None

    def _definition(
        self, node: tree_sitter.Node, kind: str, parent: Definition | None
    ) -> Definition | None:
        """Return the definition of a node; None if it has no name."""
        outline = self.outline
        span = self._span_of_name(node)
        if not span:
            return None
        owner, name = self._name(node, span, kind)
        if not name:
            return None
        before_name = line_feeds(self.data[node.start_byte : span[0]])
        whole = self._with_surroundings(node)
        comments = outline.comments
        leading = comments.leading(whole, outline.last)
        first = comments.first_node(leading[0], whole)
        last = outline.last(whole) if outline.last else whole
        if kind == FUNCTION and outline.owner:
            owner = outline.owner(node) or owner
        return Definition(
            node=node,
            whole=whole,
            leading=leading,
            start=first.start_byte,
            end=last.end_byte,
            row=first.start_point.row,
            name_row=node.start_point.row + before_name.count(b"\n"),
            end_row=last_row(last),
            kind=kind,
            name=name,
            owner=owner,
            parent=parent,
        )

    def _with_surroundings(self, node: tree_sitter.Node) -> tree_sitter.Node:
        """Return the outermost node that holds one definition, with decorators or `export`."""
        while (parent := node.parent) and parent.type in self.outline.around:
            before = node.prev_named_sibling
            if node.next_named_sibling or (before and before.type == node.type):
                break
            node = parent
        return node


def leads(node: tree_sitter.Node) -> bool:
    """Return whether a node is about the next one: a comment, or an attribute."""
    return is_comment(node) or node.type in ATTRIBUTES


def is_comment(node: tree_sitter.Node) -> bool:
    """Return whether a node is a comment, of any kind."""
    return "comment" in node.type


def last_row(node: tree_sitter.Node) -> int:
    """Return the last row of a node; a line feed at its end does not begin another one."""
    end = node.end_point
    ends_before_row = end.column == 0 and end.row > node.start_point.row
    return end.row - ends_before_row


def _nodes_before(node: tree_sitter.Node, last: LastNode | None) -> Iterator[tree_sitter.Node]:
    """Yield the nodes before a node, nearest first; of the first child, those before its parent.

    The comments that a node holds after its `last` one come first, then the node itself.
    """
    while parent := node.parent:
        other = node.prev_sibling
        if other is None or _begins(other, parent):
            node = parent
            continue
        if last:
            yield from _leading_nodes_after(last(other).end_byte, other)
        yield other
        node = other


def _leading_nodes_after(byte: int, node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the comments and attributes in a node from a byte on, last one first."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if node.start_byte >= byte and leads(node):
            yield node
        elif node.end_byte > byte:
            nodes += node.children


def _begins(node: tree_sitter.Node, parent: tree_sitter.Node) -> bool:
    """Return whether only keywords, or the line of a directive, precede the end of a node."""
    if parent.type == "preproc_if" and parent.start_point.row == node.start_point.row:
        return True
    first: tree_sitter.Node | None = node
    while first and not first.is_named and first.type.isalpha():
        first = first.prev_sibling
    return first is None


def _text(node: tree_sitter.Node) -> str:
    """Return the text of a node, with line feeds."""
    text = (node.text or b"").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def comment_text(
    comment: str, marks: str = COMMENT_MARKS, markup: Callable[[str], str] | None = None
) -> str:
    r"""Return the text of a comment without its markers.

    >>> comment_text("/**\n * Adds.\n * @param x one\n */")
    'Adds.\n@param x one'
    >>> comment_text("--- Adds.\n-- More.", "-+")
    'Adds.\nMore.'
    """
    text = re.sub(rf"^[ \t]*(?:{marks})[ \t]?", "", comment, flags=re.MULTILINE)
    text = RULER_LINE.sub("", COMMENT_END.sub("", text))
    if markup:
        text = markup(text)
    lines = [line.rstrip() for line in inspect.cleandoc(text).split("\n")]
    return "\n".join(lines).strip()
