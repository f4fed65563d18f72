"""Parsers: the contract of a file of parsers/, and the trees of many texts.

Tests: tests/structure/trees/test_trees.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from structkit.errors import UserError
from structkit.registry import Contract
from structkit.settings import settings_class
from structkit.structure.trees.tree import BadSpans, Tree


class Unparsed(NamedTuple):
    """Text to parse, with what a parser may need to know about it."""

    text: str
    key: str = ""  # key of its randomness
    language: object = None  # the `language` of its record
    sentence: str | None = None  # the plain text, if `text` is its tree


@settings_class
class Parser(Contract):
    """Contract of a file of parsers/: the trees of texts.

    Its flags are among `parse-trees`': tokenized, seed, url, model, language.
    """

    fields: ClassVar[tuple[str, ...]] = ("text",)
    """Fields of the text; the first one that a record has counts."""

    factor: ClassVar[str] = "right"
    """Split of nodes with more than two children: `right`, `left` or `balanced`."""

    @abstractmethod
    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree | UserError]:
        """Yield a tree for each text in order, or the error that rejects the text.

        It is called for a few hundred texts at a time: keep what is costly to load.
        """


def all_trees(parser: Parser, texts: Sequence[Unparsed]) -> list[Tree | UserError]:
    """Return a tree for each text in order, or the error that takes its place.

    A parser that raises is asked again, text by text, from the first one without a tree.
    """
    trees: list[Tree | UserError] = []
    try:
        trees.extend(parser.trees(texts))
    except UserError as error:
        if error.status == 2 or error.file:
            raise
        if len(texts) > 1:
            for text in texts[len(trees) :]:
                trees += all_trees(parser, [text])
        elif isinstance(error, BadSpans):
            name = type(parser).__module__
            trees = [UserError(f"the parser {name} makes no tree: {error.problem}", "mend it")]
        else:
            trees = [error]
    assert len(trees) == len(texts), f"{parser}: {len(trees)} trees, {len(texts)} texts"
    return trees
