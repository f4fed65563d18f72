"""Trees that are there already: Penn Treebank brackets in a field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from structkit.errors import UserError
from structkit.structure.trees.brackets import Tree, clean, read
from structkit.structure.trees.letters import check_same

FIELDS = ("tree",)


def trees(
    texts: Iterable[str], *, sentences: Sequence[str | None] | None = None
) -> Iterator[Tree | UserError]:
    """The tree of each text, without traces, function tags and labels of the top.

    `sentences` are the plain texts, where they are known: a tree of other words is an error.
    """
    known = iter(sentences or ())
    for text in texts:
        sentence = next(known, None)
        try:
            tree = clean(read(text))
            if sentence is not None:
                check_same(tree.words, sentence)
        except UserError as error:
            yield error
        else:
            yield tree
