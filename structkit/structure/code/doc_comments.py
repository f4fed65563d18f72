"""What a program says about its own functions: docstrings, and comments made for readers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import tree_sitter

# comment markers: at the start of the comment, of each line, and at the end
MARKS = re.compile(r"^[ \t]*(?:/\*[*!]*(?!/)|\*+(?!/)|//[/!]*|#+)[ \t]?|[ \t]*\**\*/[ \t]*$", re.M)
XML_NAME = re.compile(r"<[^<>]*\b(?:cref|name|langword)=\"(?:\w:)?([^\"]*)\"[^<>]*/>")
XML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


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
            return _first_string(node)
        comments = list(self._above(node, data))
        return plain("\n".join(reversed(comments)), xml=self.xml)

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
            if "comment" not in other.type or line.strip() or not self._begin.match(text):
                return
            yield text
            if text.startswith("/*"):
                return  # one block is one comment

    @cached_property
    def _begin(self) -> re.Pattern[str]:
        return re.compile(self.begin)


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


def _first_string(node: tree_sitter.Node) -> str:
    body = node.child_by_field_name("body")
    inside = body.named_children if body else []
    statements = [child for child in inside if "comment" not in child.type]
    if not statements or statements[0].type != "expression_statement":
        return ""
    inner = statements[0].named_children
    if len(inner) != 1 or inner[0].type not in ("string", "concatenated_string"):
        return ""
    strings = inner[0].named_children if inner[0].type == "concatenated_string" else inner
    parts = [part for string in strings for part in string.children]
    texts = [part.text for part in parts if part.type == "string_content" and part.text]
    return inspect.cleandoc(b"".join(texts).decode("utf-8", "replace")).strip()


def plain(comment: str, *, xml: bool = False) -> str:
    r"""The text of a comment without its markers.

    >>> plain("/**\n * Adds.\n * @param x one\n */")
    'Adds.\n@param x one'
    >>> plain('/// <summary>As <see cref="T:Foo"/>.</summary>', xml=True)
    'As Foo.'
    """
    text = MARKS.sub("", comment)
    if xml:
        text = XML_TAG.sub("", XML_NAME.sub(r"\1", text))
    lines = [line.rstrip() for line in inspect.cleandoc(text).split("\n")]
    return "\n".join(lines).strip()
