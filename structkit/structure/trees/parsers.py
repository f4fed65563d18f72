"""The trees of many texts: one that a parser fails on does not affect the others."""

from __future__ import annotations

from collections.abc import Sequence

from structkit import plugin
from structkit.errors import UserError
from structkit.structure.trees.tree import BadSpans, Tree


def all_trees(parser: plugin.Parser, texts: Sequence[plugin.Unparsed]) -> list[Tree | UserError]:
    """A tree for each text in order, or the error that takes its place.

    A parser that raises is asked again, text by text, from the first one without a tree.
    """
    trees, error = _until_error(parser, texts)
    if error is None:
        assert len(trees) == len(texts), f"{parser}: {len(trees)} trees, {len(texts)} texts"
    elif len(texts) == 1:
        trees = [error]
    else:
        for text in texts[len(trees) :]:
            trees += all_trees(parser, [text])
    return trees


def _until_error(
    parser: plugin.Parser, texts: Sequence[plugin.Unparsed]
) -> tuple[list[Tree | UserError], UserError | None]:
    """The trees up to an error that one text may be to blame for, and the error."""
    trees: list[Tree | UserError] = []
    try:
        trees.extend(parser.trees(texts))
    except BadSpans as error:
        name = type(parser).__module__
        return trees, UserError(f"the parser {name} makes no tree: {error.problem}", "mend it")
    except UserError as error:
        if error.status == 2 or error.file:
            raise
        return trees, error.with_traceback(None)
    return trees, None
