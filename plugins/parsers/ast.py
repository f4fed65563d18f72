"""Code: its syntax tree by tree-sitter, in every language that has a grammar here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.code.code_trees import code_tree
from structkit.structure.code.treesitter import Grammar
from structkit.structure.trees.tree import Tree

FIELDS = ("code",)
FACTOR = "balanced"


def trees(texts: Iterable[str], *, languages: Sequence[str | None]) -> Iterator[Tree | UserError]:
    """The tree of each text in its language.

    >>> from structkit.structure.trees.brackets import write
    >>> [write(tree) for tree in trees(["x = f(1)"], languages=["python"])]  # doctest: +ELLIPSIS
    ['(assignment (identifier x) (= =) (call (identifier f) (argument_list (-LRB- -LRB-) ...
    """
    for language, text in zip(languages, texts, strict=True):
        try:
            yield code_tree(grammar(language), text)
        except UserError as error:
            yield error.with_traceback(None)


def grammar(language: str | None) -> Grammar:
    """The grammar of a language. Errors: no language, one that does not exist or has none."""
    if not isinstance(language, str):
        raise UserError('field "language" is missing', "name it with --language")
    found = getattr(load("language", language, status=1), "GRAMMAR", None)
    if not isinstance(found, Grammar):
        raise UserError(f"language {language!r} has no syntax tree", "leave the record out")
    return found
