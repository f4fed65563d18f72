"""Definitions of a program: its functions with their documentation, and their containers."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Literal

import tree_sitter

from structkit.structure.code.grammar import Grammar, line_feeds

# name of a scope: the first word of its kind that is one of these
KINDS = (
    "class interface struct trait enum impl module namespace record union type annotation macro "
    "property object protocol extension actor given"
)
WORDS = {
    **{"mod": "module", "defmodule": "module", "defprotocol": "protocol", "defimpl": "impl"},
    **{word: word for word in KINDS.split()},
}
RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
# a key that is a string or computed, alone or after an object
KEY = re.compile(
    r"""(?P<owner>[^\[\]"'`]*)(?:(\[\s*)?(["'`])(?P<literal>.+)\3(?(2)\s*\])|(?P<computed>\[.+\]))$"""
)
CONVERSION = re.compile(r"\boperator\s+\w")  # to a type, whose name may be qualified
FIELDS = re.compile(rb"\s*\w+\s*;")  # after a body in braces that belonged to a type
# nodes whose first child has the name, in Elixir and Kotlin
HEADS = frozenset("arguments binary_operator call variable_declaration".split())
DEEPEST = 16  # scopes to name: generated code may have thousands
LONGEST = 200  # characters of a name
# kinds of attributes, which lead to a definition and belong to it
LEADS = frozenset(
    "attribute_item inner_attribute_item attribute_list attribute_declaration attribute_specifier "
    "decorator annotation marker_annotation annotated_expression".split()
)
HEADER = re.compile(
    r"@(?:file|fileoverview|overview|licen[sc]e|packagedocumentation|module)\b"
    r"|\bcopyright\b|\blicensed under\b|\bspdx-license",
    re.I,
)
TOP = ("php_tag", "hash_bang_line")  # may precede the first comment of a file
# comment markers: at the start of the comment and of each line, and at the end
MARKS = r"/\*[*!]*(?!/)|\*+(?!/)|//[/!]*|#+|=(?:begin|end)\b.*"
END = re.compile(r"\*+/[ \t]*$", re.M)
# of C#: signs before the name belong to it
SIGNED = frozenset(
    "operator_declaration conversion_operator_declaration destructor_declaration".split()
)
WORD = re.compile(r"~?\w+")
RULER = re.compile(r"^[ \t]*[-=*#~_/+]{3,}[ \t]*$\n?", re.M)
CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
XML_NAME = re.compile(r"<[^<>]*\b(?:cref|name|langword)=\"(?:\w:)?([^\"]*)\"[^<>]*/>")
XML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


# the comments and attributes before a definition, nearest first, and the node before them
Leading = tuple[list[tree_sitter.Node], tree_sitter.Node | None]


@dataclass(frozen=True)
class Definition:
    """Function, or container of functions: its place, its name, and its own container.

    `whole` is the node with its decorators or `export`; `start` is the first byte, attributes
    included. Rows count from 0, `end_row` is the last one. `owner` is the type of a method that is
    defined outside it.
    """

    node: tree_sitter.Node
    whole: tree_sitter.Node
    leading: Leading
    start: int
    row: int
    end_row: int
    kind: str
    name: str
    owner: str
    parent: Definition | None

    @property
    def outer(self) -> list[Definition]:
        """Its containers, outermost first."""
        outer, parent = list[Definition](), self.parent
        while parent and len(outer) < DEEPEST:
            outer.append(parent)
            parent = parent.parent
        return outer[::-1]

    @property
    def scope(self) -> str:
        """Its containers, in words: `class A, function f`."""
        words = [each.label for each in self.outer]
        return ", ".join([*words, self.owner] if self.owner else words)

    @property
    def label(self) -> str:
        """Its kind and name, as in the scope of its contents."""
        return f"{self.kind} {self.owner}.{self.name}" if self.owner else f"{self.kind} {self.name}"

    @property
    def top(self) -> int:
        """Its first row with the comments that stand directly before it."""
        top = self.whole.start_point.row
        for each in self.leading[0]:
            if last_row(each) < top - 1 or not _leads(each):
                break
            top = each.start_point.row
        return min(top, self.row)

    @property
    def signature(self) -> int:
        """Row of its name, after attributes and decorators."""
        return max(self.row, self.node.start_point.row)

    @cached_property
    def path(self) -> str:
        """Its name after the names of its containers: `A.f`."""
        names = [part for each in (*self.outer, self) for part in (each.owner, each.name) if part]
        return ".".join(names)


@dataclass(frozen=True)
class DocComments:
    """Documentation of functions in a language, by the rule of the language's own tool.

    Comments precede the function and its attributes, or `inside` finds a string in it. `gap` is
    what may come between: nothing; `blank` lines; or `any`thing that is no code, as with `run`, but
    not between the lines of one. Of block comments the last one counts, of lines the last run; with
    `every`, all of them. `marks` is how a comment and each of its lines begin, which is no text.
    """

    begin: str = ""  # a pattern: how such a comment begins
    gap: Literal["", "blank", "run", "any"] = ""
    every: bool = False
    marks: str = MARKS
    xml: bool = False  # tags are markup
    skip: str = r"(?!)"  # comments that document nothing: directives, linters' comments
    between: frozenset[str] = frozenset()  # kinds that may come between, in addition to LEADS
    attribute: str = r"(?!)"  # an attribute that is documentation: its text is the last group
    hidden: str = ""  # parts of a comment that are no documentation
    elsewhere: str = r"(?!)(?P<signature>)"  # that the comment is about something else
    mixed: bool = False  # comments between and after attributes, which are in the definition
    inner: str = ""  # a pattern: how comments inside the body begin that document the function
    overloads: frozenset[str] = frozenset()  # kinds of signatures that may have the comment
    inside: Callable[[tree_sitter.Node], str] | None = None

    def of(self, definition: Definition) -> str:
        """Return a function's documentation without comment markers, or ""."""
        if self.inside:
            return self.inside(definition.node)
        (trivia, end), row = definition.leading, definition.whole.start_point.row
        if self.mixed:
            trivia = [*_attributed(definition.node)][::-1] + trivia
        leads = [number for number, each in enumerate(trivia, 1) if each.type in LEADS]
        if leads and not self.every and not self.mixed:  # a comment before the attributes
            trivia, row = trivia[leads[-1] :], definition.row
        comments = list(self._chosen(trivia, row))[::-1]
        while not comments and (overload := self._overload(end, definition.node)):
            trivia, end = self.leading(overload)
            comments = list(self._chosen(trivia, overload.start_point.row))[::-1]
        if comments and (end is None or end.type in TOP) and self._is_header(trivia, comments):
            return ""
        if self.inner:
            comments += map(_text, self.inside_body(definition.node))
        text = "\n".join(comments)
        about = re.search(self.elsewhere, text)
        if about and definition.name not in WORD.findall(about["signature"] or ""):
            return ""
        text = re.sub(self.hidden, "", text) if self.hidden else text
        return comment_text(text, self.marks, xml=self.xml)

    def inside_body(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """Return the comments at the start of a function's body that document it."""
        body = node.child_by_field_name("body")
        comments = takewhile(_is_comment, body.named_children if body else ())
        return [each for each in comments if re.match(self.inner, _text(each))]

    def leading(self, node: tree_sitter.Node) -> Leading:
        """Return the comments and attributes before a node."""
        trivia: list[tree_sitter.Node] = []
        for other in _before(node):
            if not (_is_comment(other) or other.type in LEADS or other.type in self.between):
                row = last_row(other)
                # a comment belongs to the code that ends on its line
                while row < node.start_point.row and trivia and trivia[-1].start_point.row == row:
                    trivia.pop()
                return trivia, other
            trivia.append(other)
        return trivia, None

    def first(self, leading: list[tree_sitter.Node], node: tree_sitter.Node) -> tree_sitter.Node:
        """Return the node with which the code of a definition begins: an attribute, or itself.

        If attributes and documentation mix, attributes after the documentation are part of it.
        """
        for each in _attributed(node) if self.mixed else ():
            if re.match(self.begin, _text(each)):
                node = each.next_sibling or (each.parent and each.parent.next_sibling) or node
                leading = []
        for each in leading:
            begin = self.begin if _is_comment(each) else self.attribute
            if self.every and re.match(begin, _text(each)):
                break
            node = each if each.type in LEADS else node
        return node

    def _chosen(self, trivia: list[tree_sitter.Node], row: int) -> Iterator[str]:
        """Yield the texts of comments that document what begins on a row, nearest first."""
        found = False
        for other in trivia:
            if last_row(other) + 1 < row and (not self.gap or found and self.gap != "any"):
                return
            row, text = other.start_point.row, _text(other)
            if not _is_comment(other):
                if match := re.match(self.attribute, text):
                    yield re.sub("^", "///", match[match.lastindex or 0], flags=re.M)
                    if not self.every:
                        return
                elif found and not self.every and not self.mixed:
                    return
            elif re.match(self.begin, text) and not re.match(self.skip, text):
                if found and text.startswith("/*") and not self.every:
                    return
                found = True
                yield text
                if text.startswith("/*") and not self.every:
                    return
            elif (
                self.gap in ("", "blank")
                and not re.match(self.skip, text)
                or found
                and not self.every
            ):
                return

    @staticmethod
    def _is_header(trivia: list[tree_sitter.Node], comments: list[str]) -> bool:
        """Return whether the comments are the first of a file, and about the file."""
        first = comments[0] == _text(trivia[-1])
        return first and HEADER.search("\n".join(comments)) is not None

    def _overload(
        self, end: tree_sitter.Node | None, node: tree_sitter.Node
    ) -> tree_sitter.Node | None:
        """Return the signature of the same function that ends there."""
        whole = end.prev_sibling if end and end.type == ";" else end
        inner = whole.named_children[-1] if whole and whole.type == "export_statement" else whole
        if inner is None or inner.type not in self.overloads:
            return None
        names = {each.text for n in (inner, node) if (each := n.child_by_field_name("name"))}
        return whole if len(names) == 1 else None


@dataclass(frozen=True)
class Prepared:
    """Code as its grammar reads it, with every character in its place.

    `names` are names of functions that a macro defines, each at its place in `data`.
    """

    data: bytes
    names: Mapping[int, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outline:
    """Definitions in a language's trees; each language's file declares one.

    `functions` and `scopes` are nodes as in a query of tree-sitter, without their parentheses.
    """

    grammar: Grammar
    functions: tuple[str, ...]
    comments: DocComments
    scopes: tuple[str, ...] = ()
    # a filter of functions that a pattern cannot express
    is_function: Callable[[tree_sitter.Node], bool] | None = None
    # the field with the name, or the kind of the child, where it is not `name`
    names: Mapping[str, str] = field(default_factory=dict)
    # nodes around a definition that belong to it: decorators, `export`
    around: frozenset[str] = frozenset()
    receiver: str = ""  # the field with the type of a method defined outside it
    other: tuple[str, Grammar] | None = None  # for texts in which a pattern occurs
    prepare: Callable[[bytes], Prepared] | None = None  # blanks code that the grammar cannot read
    repair: Callable[[bytes], bytes] | None = None  # does so where the tree has errors
    keywords: frozenset[str] = frozenset()  # names that no function has, except these kinds
    members: frozenset[str] = frozenset()

    def parse(self, text: str, data: bytes) -> ParsedText:
        """Parse a text, whose bytes are `data`."""
        second = self.other is not None and re.search(self.other[0], text) is not None
        grammar = self.other[1] if self.other and second else self.grammar
        plain = line_feeds(data)
        seen = self.prepare(plain) if self.prepare else Prepared(plain)
        tree = grammar.parser.parse(seen.data)
        repair = self.repair or grammar.repair
        if repair and tree.root_node.has_error:
            if (repaired := repair(seen.data)) != seen.data:
                tree = grammar.parser.parse(repaired)
        return ParsedText(self, data, tree, self._queries[second], seen.names)

    @cached_property
    def _queries(self) -> list[tree_sitter.Query]:
        grammars = [self.grammar, *([self.other[1]] if self.other else [])]
        patterns = [f"({node}) @function" for node in self.functions]
        patterns += [f"({node}) @scope" for node in self.scopes]
        source = "\n".join(patterns)
        return [tree_sitter.Query(grammar.language, source) for grammar in grammars]


@dataclass(frozen=True)
class ParsedText:
    """A parsed text."""

    outline: Outline
    data: bytes
    tree: tree_sitter.Tree
    query: tree_sitter.Query
    names: Mapping[int, tuple[str, str]]  # of functions that a macro defines, by their place

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every definition with a name, in the order in which they start."""
        definitions: list[Definition] = []
        open_: list[Definition] = []
        for node, is_function in self._nodes():
            while open_ and open_[-1].node.end_byte <= node.start_byte:
                open_.pop()
            parent = open_[-1] if open_ else None
            owner, name = self._name(node, is_function)
            if name and not (is_function and self._is_none(node, owner, name, parent)):
                definitions.append(self._definition(node, owner, name, parent, is_function))
                open_.append(definitions[-1])
        return definitions

    def doc_comment(self, definition: Definition) -> str:
        """Return the documentation of a function; empty if there is none."""
        return self.outline.comments.of(definition)

    def _nodes(self) -> list[tuple[tree_sitter.Node, bool]]:
        captured = tree_sitter.QueryCursor(self.query).captures(self.tree.root_node)
        nodes = [
            (node, name == "function")
            for name in ("function", "scope")  # other captures are those of predicates
            for node in captured.get(name, ())
        ]
        if check := self.outline.is_function:
            nodes = [pair for pair in nodes if not pair[1] or check(pair[0])]
        return sorted(nodes, key=lambda pair: (pair[0].start_byte, -pair[0].end_byte, pair[1]))

    def _name(self, node: tree_sitter.Node, is_function: bool) -> tuple[str, str]:
        """Return the type that a method is defined for outside it, if any, and the name."""
        field = self.outline.names.get(node.type, "name")
        children = (child for child in node.children if child.type == field)
        named = node.child_by_field_name(field) or next(children, None)
        while named is not None and (named.type.endswith("_declarator") or named.type in HEADS):
            sign = named.child_by_field_name("operator")
            if sign and sign.type != "when":  # Elixir: `def a + b`
                named = sign
                break
            inner = named.child_by_field_name("declarator")
            named = inner or (named.named_children[0] if named.named_children else None)
        if named is None:
            return "", ""
        if defined := self.names.get(named.start_byte):
            return defined
        if named.type == "word":  # of a shell, where other signs are letters
            return "", self._text(*named.byte_range)
        start, end = named.byte_range
        sign = named.prev_sibling if node.type in SIGNED else None
        while sign and sign.type in ("operator", "checked", "~"):
            start, sign = sign.start_byte, sign.prev_sibling
        if field == "declarator":  # of C++
            kind, end = node.child_by_field_name("type"), _end_of_name(named)
            if kind and kind.text and kind.text.endswith(b"operator"):
                start = kind.start_byte  # `A::operator int` is no name after a type
        name = self._text(start, end)
        return owner_and_name(name) if is_function else ("", name.strip("\"'`"))

    def _is_none(
        self, node: tree_sitter.Node, owner: str, name: str, parent: Definition | None
    ) -> bool:
        """Return whether a function is really a statement, such as a macro."""
        if name in self.outline.keywords and not owner and node.type not in self.outline.members:
            return True  # `exports.default` and members may be named so
        declarator = node.child_by_field_name("declarator")
        if declarator is None:  # in C and its like, no function is inside another
            return False
        if not declarator.type.endswith("_declarator") and not CONVERSION.search(name):
            return True  # without parameters
        of_macro = declarator.start_byte in self.names
        if of_macro and FIELDS.match(self.data, node.end_byte):
            return True
        inside = parent is not None and parent.kind == "function"
        return inside and (of_macro or node.child_by_field_name("type") is None)

    def _text(self, start: int, end: int) -> str:
        text = self.data[start:end].decode("utf-8", "replace")
        return " ".join(text.split())[:LONGEST]

    def _follows_text(self, place: int) -> bool:
        """Return whether the line before a place has text; looking up siblings takes long."""
        end = max(self.data.rfind(b"\n", 0, place), 0)
        return bool(self.data[self.data.rfind(b"\n", 0, end) + 1 : end].strip())

    def _definition(
        self,
        node: tree_sitter.Node,
        owner: str,
        name: str,
        parent: Definition | None,
        is_function: bool,
    ) -> Definition:
        outline = self.outline
        whole = node
        # the rest of its parent is punctuation
        while (
            (around := whole.parent)
            and around.type in outline.around
            and whole.next_named_sibling is None
            and not ((other := whole.prev_named_sibling) and other.type == whole.type)
        ):
            whole = around
        comments = outline.comments
        leading: Leading = ([], None)
        if not comments.inside or self._follows_text(whole.start_byte):
            leading = comments.leading(whole)
        first = comments.first(leading[0], whole)
        if is_function:
            receiver = node.child_by_field_name(outline.receiver) if outline.receiver else None
            if receiver and (match := RECEIVER.search(self._text(*receiver.byte_range))):
                owner = match[1]
        kinds = ["function"]
        if not is_function:
            words = [*map(_text, node.children_by_field_name("target"))]  # `defmodule`
            if node.type == "class_declaration":  # `struct` in Swift, `interface` in Kotlin
                words = [child.type for child in node.children if not child.is_named]
            types = [*words, node.type, *(child.type for child in node.named_children)]
            kinds = [WORDS.get(word, "") for each in types for word in each.split("_")]
        return Definition(
            node=node,
            whole=whole,
            leading=leading,
            start=first.start_byte,
            row=first.start_point.row,
            end_row=last_row(whole),
            kind=next(filter(None, kinds), "scope"),
            name=name,
            owner=owner,
            parent=parent,
        )


def _leads(node: tree_sitter.Node) -> bool:
    return _is_comment(node) or node.type in LEADS


def last_row(node: tree_sitter.Node) -> int:
    """Return the last line of a node; one that ends with the line is not on the next one."""
    end = node.end_point
    return end.row - (end.column == 0 and end.row > node.start_point.row)


def owner_and_name(text: str) -> tuple[str, str]:
    """Return the type in front of a method's name, and the name.

    >>> owner_and_name("Foo::bar"), owner_and_name("Foo.prototype.bar"), owner_and_name("bar")
    (('Foo', 'bar'), ('Foo', 'bar'), ('', 'bar'))
    >>> owner_and_name("'x.y'"), owner_and_name("Foo['x.y']"), owner_and_name("[Symbol.iterator]")
    (('', 'x.y'), ('Foo', 'x.y'), ('', '[Symbol.iterator]'))
    >>> owner_and_name("Foo::operator std::string")
    ('Foo', 'operator std::string')
    """
    if text.isidentifier():
        return "", text
    if text.endswith(("]", "'", '"', "`")) and (match := KEY.match(text)):
        owner, literal, computed = match["owner"], match["literal"], match["computed"]
        return owner.removesuffix(".prototype"), literal or computed
    conversion = CONVERSION.search(text)
    at = conversion.start() if conversion else len(text)
    for sign in ("::", ":", "."):
        owner, separator, name = text[:at].rpartition(sign)
        if separator and name + text[at:]:
            return owner.removesuffix(".prototype"), name + text[at:]
    return "", text


def _end_of_name(node: tree_sitter.Node) -> int:
    """Return the end of a name in a C++ declarator: before parameters or template arguments."""
    while node.type == "qualified_identifier" and (name := node.child_by_field_name("name")):
        node = name
    rest = node.child_by_field_name("arguments") if node.type == "template_function" else None
    if node.type == "operator_cast":
        rest = node.child_by_field_name("declarator")
        while rest and rest.type != "abstract_function_declarator":
            rest = rest.named_children[-1] if rest.named_children else None
    return rest.start_byte if rest else node.end_byte


def _before(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the nodes before a node, nearest first, then before a parent it begins."""
    while parent := node.parent:
        other = node.prev_sibling
        if other is None or _begins(other, parent):
            node = parent
        else:
            yield other
            node = other


def _begins(node: tree_sitter.Node, parent: tree_sitter.Node) -> bool:
    """Return whether a node is how its parent begins: a keyword, or the line of a directive."""
    word = not node.is_named and node.type.isalpha()
    return word or parent.type == "preproc_if" and parent.start_point.row == node.start_point.row


def _attributed(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the comments among and after the attributes that a definition begins with."""
    for child in node.children:
        if child.type == "attribute_list":
            yield from filter(_is_comment, child.children)
        elif _is_comment(child):
            yield child
        elif not child.type.endswith("_modifier") and child.is_named:
            return


def _is_comment(node: tree_sitter.Node) -> bool:
    return "comment" in node.type


def _text(node: tree_sitter.Node) -> str:
    """Return the text of a node, with line feeds."""
    text = (node.text or b"").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def comment_text(comment: str, marks: str = MARKS, *, xml: bool = False) -> str:
    r"""Return the text of a comment without its markers.

    >>> comment_text("/**\n * Adds.\n * @param x one\n */")
    'Adds.\n@param x one'
    >>> comment_text("--- Adds.\n-- More.", "-+")
    'Adds.\nMore.'
    >>> comment_text('/// <summary>As <see cref="T:Foo"/> &amp; so.</summary>', xml=True)
    'As Foo & so.'
    """
    text = RULER.sub("", END.sub("", re.sub(rf"^[ \t]*(?:{marks})[ \t]?", "", comment, flags=re.M)))
    if xml:
        text = CDATA.sub(lambda match: html.escape(match[1]), text)
        text = html.unescape(XML_TAG.sub("", XML_NAME.sub(r"\1", text)))
    lines = [line.rstrip() for line in inspect.cleandoc(text).split("\n")]
    return "\n".join(lines).strip()
