"""Code: its syntax tree by tree-sitter, in every language that has a grammar here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structkit import plugin
from structkit.errors import UserError
from structkit.structure.code.code_trees import code_tree
from structkit.structure.code.grammar import Grammar
from structkit.structure.code.languages import CodeLanguage, language_named
from structkit.structure.trees.tree import Tree


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """The syntax tree of code; `language` is that of all texts, None: each has its own.

    >>> from structkit.structure.trees.brackets import write
    >>> trees = Parser("python").trees([plugin.Unparsed("x = f(1)")])
    >>> [write(tree) for tree in trees]  # doctest: +ELLIPSIS
    ['(assignment (identifier x) (= =) (call (identifier f) (argument_list (-LRB- -LRB-) ...
    """

    fields = ("code",)
    factor = "balanced"

    language: str | None = None

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """The tree of each text in its language."""
        for each in texts:
            try:
                yield code_tree(grammar(self.language or each.language), each.text)
            except UserError as error:
                yield error.with_traceback(None)


def grammar(language: object) -> Grammar:
    """The grammar of a language. Errors: no language, one that does not exist or has none."""
    if not isinstance(language, str):
        raise UserError('field "language" is missing', "name it with --language")
    known = language_named(language, status=1)
    if not isinstance(known, CodeLanguage):
        raise UserError(f"language {language!r} has no syntax tree", "leave the record out")
    return known.grammar
