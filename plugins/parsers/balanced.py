"""Balanced trees: each node is split in the middle."""

from structkit.structure.trees.shapes import ShapeParser


class Parser(ShapeParser):
    """The balanced tree of a text's words."""

    split = "balanced"
