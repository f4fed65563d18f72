"""Existing trees: Penn Treebank brackets in a field."""

from collections.abc import Iterable, Iterator

from structkit import plugin
from structkit.errors import UserError
from structkit.structure.trees.brackets import clean, read_tree
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import check_same


class Parser(plugin.Parser):
    """A tree in brackets, without traces, function tags and top labels."""

    fields = ("tree",)

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """Yield the tree of each text, or an error if its words differ from the sentence's."""
        for each in texts:
            try:
                tree = clean(read_tree(each.text))
                if each.sentence is not None:
                    check_same(tree.words, each.sentence)
            except UserError as error:
                yield error
            else:
                yield tree
