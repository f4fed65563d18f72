"""Right-branching trees: each node holds a word and all words after it."""

from structkit.structure.trees.shapes import ShapeParser, right_branching


class Parser(ShapeParser):
    """The right-branching tree of a text's words."""

    shape = staticmethod(right_branching)
