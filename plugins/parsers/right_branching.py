"""Right-branching trees: each node holds a word and all words after it."""

from structkit.structure.trees.shapes import ShapeParser


class Parser(ShapeParser):
    """The right-branching tree of a text's words."""

    split = "right"
