"""The definitions of a program: its functions with their documentation, and what holds them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import tree_sitter

from structkit.structure.code.grammar import Grammar, blank_out

# what a scope is called: the first word of its kind that is one of these
KINDS = "class interface struct trait enum impl module namespace record union type annotation macro"
WORDS = {"mod": "module", **{word: word for word in KINDS.split()}}
RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
DEEPEST = 16  # scopes to name: generated code may have thousands
LONGEST = 200  # characters of a name
STRINGS = ("string", "concatenated_string")
# comment markers: at the start of the comment, of each line, and at the end
MARKS = re.compile(r"^[ \t]*(?:/\*[*!]*(?!/)|\*+(?!/)|//[/!]*|#+)[ \t]?|[ \t]*\**\*/[ \t]*$", re.M)
XML_NAME = re.compile(r"<[^<>]*\b(?:cref|name|langword)=\"(?:\w:)?([^\"]*)\"[^<>]*/>")
XML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclass(frozen=True)
class Definition:
    """A function, or what holds functions: its place, its name, and what contains it.

    `whole` is the node with what belongs to it: decorators, `export`; `start` is the first byte,
    attributes included. Rows count from 0, `end_row` is the last one. `owner` is the type of a
    method that is defined outside it.
    """

    node: tree_sitter.Node
    whole: tree_sitter.Node
    start: int
    row: int
    end_row: int
    kind: str
    name: str
    owner: str
    parent: Definition | None

    @property
    def outer(self) -> list[Definition]:
        """What contains it, the outermost first."""
        outer, parent = list[Definition](), self.parent
        while parent and len(outer) < DEEPEST:
            outer.append(parent)
            parent = parent.parent
        return outer[::-1]

    @property
    def scope(self) -> str:
        """What contains it, in words: `class A, function f`."""
        words = [each.label for each in self.outer]
        return ", ".join([*words, self.owner] if self.owner else words)

    @property
    def label(self) -> str:
        """Its kind and name, as in the scope of what it contains."""
        return f"{self.kind} {self.owner}.{self.name}" if self.owner else f"{self.kind} {self.name}"

    @property
    def path(self) -> str:
        """Its name after those of all that contain it: `A.f`."""
        names = [part for each in (*self.outer, self) for part in (each.owner, each.name) if part]
        return ".".join(names)


@dataclass(frozen=True)
class DocComments:
    """How a language documents a function: comments before it, or a string inside it."""

    begin: str = ""  # a pattern: how such a comment begins
    inside: bool = False
    xml: bool = False  # tags are markup
    between: frozenset[str] = frozenset()  # kinds that may follow a comment: attributes

    def of(self, node: tree_sitter.Node, data: bytes) -> str:
        """The documentation of a function, without comment markers; empty if there is none."""
        if self.inside:
            return docstring(node)
        comments = list(self._above(node, data))
        return comment_text("\n".join(reversed(comments)), xml=self.xml)

    def _above(self, node: tree_sitter.Node, data: bytes) -> Iterator[str]:
        """The comments that end on the line before a node, the nearest first."""
        row = node.start_point.row
        for other in _before(node):
            text = data[other.start_byte : other.end_byte].decode("utf-8", "replace").rstrip()
            last = other.start_point.row + text.count("\n")
            if last + 1 < row:
                return
            row = other.start_point.row
            if other.type in self.between:
                continue
            line = data[data.rfind(b"\n", 0, other.start_byte) + 1 : other.start_byte]
            if "comment" not in other.type or line.strip() or not re.match(self.begin, text):
                return
            yield text
            if text.startswith("/*"):
                return  # one block is one comment


@dataclass(frozen=True)
class Outline:
    """What a language's trees call its definitions; each language's file declares one.

    `functions` and `scopes` are nodes as in a query of tree-sitter, without their parentheses.
    """

    grammar: Grammar
    functions: tuple[str, ...]
    scopes: tuple[str, ...]
    comments: DocComments
    # the field with the name, where it is not `name`
    names: Mapping[str, str] = field(default_factory=dict)
    # what surrounds a definition and belongs to it: decorators, `export`
    around: frozenset[str] = frozenset()
    receiver: str = ""  # the field with the type of a method defined outside it
    other: tuple[str, Grammar] | None = None  # for texts in which a pattern occurs

    def parse(self, text: str, data: bytes) -> Program:
        """The program in a text, whose bytes are `data`."""
        second = self.other is not None and re.search(self.other[0], text) is not None
        grammar = self.other[1] if self.other and second else self.grammar
        tree = grammar.parser.parse(blank_out(grammar.blank, data))
        return Program(self, data, tree, self._queries[second])

    @cached_property
    def _queries(self) -> list[tree_sitter.Query]:
        grammars = [self.grammar, *([self.other[1]] if self.other else [])]
        patterns = [f"({node}) @function" for node in self.functions]
        patterns += [f"({node}) @scope" for node in self.scopes]
        source = "\n".join(patterns)
        return [tree_sitter.Query(grammar.language, source) for grammar in grammars]


@dataclass(frozen=True)
class Program:
    """A parsed text."""

    outline: Outline
    data: bytes
    tree: tree_sitter.Tree
    query: tree_sitter.Query

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every definition with a name, in the order in which they start."""
        definitions: list[Definition] = []
        open_: list[Definition] = []
        for node, is_function in self._nodes():
            while open_ and open_[-1].node.end_byte <= node.start_byte:
                open_.pop()
            if name := self._name(node):
                parent = open_[-1] if open_ else None
                definitions.append(self._definition(node, name, parent, is_function))
                open_.append(definitions[-1])
        return definitions

    def doc_comment(self, definition: Definition) -> str:
        """The documentation of a function; empty if there is none."""
        comments = self.outline.comments
        return comments.of(definition.node if comments.inside else definition.whole, self.data)

    def _nodes(self) -> list[tuple[tree_sitter.Node, bool]]:
        captured = tree_sitter.QueryCursor(self.query).captures(self.tree.root_node)
        nodes = [(node, name == "function") for name in captured for node in captured[name]]
        return sorted(nodes, key=lambda pair: (pair[0].start_byte, -pair[0].end_byte, pair[1]))

    def _name(self, node: tree_sitter.Node) -> str:
        named = node.child_by_field_name(self.outline.names.get(node.type, "name"))
        while named is not None and named.type.endswith("_declarator"):
            inner = named.child_by_field_name("declarator")
            named = inner or (named.named_children[0] if named.named_children else None)
        return self._text(named).strip("\"'`") if named else ""

    def _text(self, node: tree_sitter.Node) -> str:
        text = self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        return " ".join(text.split())[:LONGEST]

    def _definition(
        self, node: tree_sitter.Node, name: str, parent: Definition | None, is_function: bool
    ) -> Definition:
        outline, owner = self.outline, ""
        whole = node
        # what else is in its parent is punctuation
        while (
            whole.parent
            and whole.parent.type in outline.around
            and whole.next_named_sibling is None
        ):
            whole = whole.parent
        first = whole
        while (before := first.prev_named_sibling) and before.type in outline.comments.between:
            first = before
        if is_function:
            owner, name = owner_and_name(name)
            receiver = node.child_by_field_name(outline.receiver) if outline.receiver else None
            if receiver and (match := RECEIVER.search(self._text(receiver))):
                owner = match[1]
        kinds = ["function"] if is_function else [WORDS.get(w, "") for w in node.type.split("_")]
        return Definition(
            node=node,
            whole=whole,
            start=first.start_byte,
            row=first.start_point.row,
            end_row=last_row(whole),
            kind=next(filter(None, kinds), "scope"),
            name=name,
            owner=owner,
            parent=parent,
        )


def last_row(node: tree_sitter.Node) -> int:
    """The last line of a node; one that ends with the line is not on the next one."""
    end = node.end_point
    return end.row - (end.column == 0 and end.row > node.start_point.row)


def owner_and_name(text: str) -> tuple[str, str]:
    """The type in front of a method's name, and the name.

    >>> owner_and_name("Foo::bar"), owner_and_name("Foo.prototype.bar"), owner_and_name("bar")
    (('Foo', 'bar'), ('Foo', 'bar'), ('', 'bar'))
    """
    for sign in ("::", "."):
        owner, separator, name = text.rpartition(sign)
        if separator and name:
            return owner.removesuffix(".prototype"), name
    return "", text


def _before(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The siblings before a node, the nearest first; before what starts with it, if it is first."""
    while True:
        other = node.prev_named_sibling
        if other is not None:
            yield other
            node = other
        elif node.parent is None or node.prev_sibling is not None:
            return
        else:
            node = node.parent


def first_string(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The string that the body of a function or class begins with."""
    body = node.child_by_field_name("body")
    inside = body.named_children if body else []
    statements = [child for child in inside if "comment" not in child.type]
    if not statements or statements[0].type != "expression_statement":
        return None
    inner = statements[0].named_children
    return inner[0] if len(inner) == 1 and inner[0].type in STRINGS else None


def docstring(node: tree_sitter.Node) -> str:
    """The text of the string that a body begins with; empty if it begins with another statement."""
    string = first_string(node)
    if string is None:
        return ""
    strings = string.named_children if string.type == "concatenated_string" else [string]
    parts = [part for string in strings for part in string.children]
    texts = [part.text for part in parts if part.type == "string_content" and part.text]
    return inspect.cleandoc(b"".join(texts).decode("utf-8", "replace")).strip()


def comment_text(comment: str, *, xml: bool = False) -> str:
    r"""The text of a comment without its markers.

    >>> comment_text("/**\n * Adds.\n * @param x one\n */")
    'Adds.\n@param x one'
    >>> comment_text('/// <summary>As <see cref="T:Foo"/>.</summary>', xml=True)
    'As Foo.'
    """
    text = MARKS.sub("", comment)
    if xml:
        text = XML_TAG.sub("", XML_NAME.sub(r"\1", text))
    lines = [line.rstrip() for line in inspect.cleandoc(text).split("\n")]
    return "\n".join(lines).strip()
