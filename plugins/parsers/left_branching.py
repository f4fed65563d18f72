"""Left-branching trees: each node holds a word and all words before it."""

from structkit.structure.trees.shapes import ShapeParser


class Parser(ShapeParser):
    """The left-branching tree of a text's words."""

    split = "left"
