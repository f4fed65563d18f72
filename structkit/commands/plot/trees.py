"""Draw trees: those of each record side by side, for example a parser's and a model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from structkit.commands.plot.pictures import PictureSettings, save_figure
from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, Records, text_field
from structkit.settings import Command, file_setting, setting

if TYPE_CHECKING:
    from structkit.embeddings.vectors import Floats
    from structkit.structure.trees.tree import Tree

LETTER, LEVEL = 0.085, 0.45  # inches of a letter, and of a level of a tree
MAXIMUM = 400  # words of a tree in a picture: columns beyond cannot be read


@dataclass(frozen=True, kw_only=True)
class Settings(PictureSettings):
    """Draw the trees of records, for example a parser's beside those that a model makes."""

    files: tuple[str, ...] = file_setting(
        "JSONL files, also .gz; stdin if none, or for -.", ("-",), argument=True
    )
    field: tuple[str, ...] = setting(
        (), "Field with a tree; several are side by side; default: all trees."
    )
    number: int = setting(1, "Draw this many records.", short="-n", low=1, high=20)


def trees(settings: Settings) -> None:
    """Draw the trees of the first records: a row for each record, a column for each field."""
    records = Records.read(settings.files)
    try:
        some = islice(records, settings.number)
        rows = [(str(each["id"]), _trees(each, settings.field)) for each in some]
    except UserError as error:
        raise records.place(error) from None
    if not rows:
        raise UserError("there are no records", "name a file that has some").at(records.lines.file)
    most = max(len(tree.words) for _, found in rows for tree in found.values())
    if most > MAXIMUM:
        problem = f"a tree has {most:,} words, a picture has room for {MAXIMUM}"
        raise UserError(problem, f"print it with {program('show')}")

    def draw(figure: Any) -> None:
        grid = figure.subplots(len(rows), max(len(found) for _, found in rows), squeeze=False)
        for line, (record_id, found) in zip(grid, rows, strict=True):
            for axes in line:
                axes.axis("off")
            for axes, (field, tree) in zip(line, found.items(), strict=False):
                axes.set_title(f"{record_id}: {field}", fontsize="medium")
                draw_tree(axes, tree)

    heights = [max(max(_heights(tree)) for tree in found.values()) for _, found in rows]
    width = max(sum(map(_width, found.values())) for _, found in rows)
    save_figure(draw, settings.output, (max(4.0, width), LEVEL * (sum(heights) + 3 * len(rows))))


def _width(tree: Tree) -> float:
    """The inches of a tree whose words do not touch."""
    return len(tree.words) * LETTER * max(5, 2 + max(map(len, tree.words)))


def _trees(record: Record, fields: Sequence[str]) -> dict[str, Tree]:
    from structkit.structure.trees.brackets import read

    named = fields or [each for each in record if each == "tree" or each.endswith("_tree")]
    if not named:
        remedy = f"make trees with {program('parse-trees')}, or name {flag('field')}"
        text_field(record, "tree", remedy)
    return {each: read(text_field(record, each, named=True)) for each in named}


def draw_tree(axes: Any, tree: Tree) -> None:
    """Draw a tree whose words stand in one row, each node above the middle of its children."""
    from structkit.structure.trees.drawing import name

    x, y = places(tree)
    for node in range(len(tree.first)):
        for child in tree.children(node):
            axes.plot(x[[node, child]], y[[node, child]], color="#5f7fb0", linewidth=1, zorder=1)
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
    for node in range(len(tree.first)):
        leaf = tree.word[node] >= 0
        label = name(tree, node).replace(" ", "\n") if leaf else tree.labels[node]
        if label:
            style: dict[str, Any] = {"va": "top"}
            if not leaf:
                style = {"va": "center", "fontweight": "bold", "bbox": box}
            axes.text(x[node], y[node], label, ha="center", **style)
    axes.set(xlim=(-0.6, len(tree.words) - 0.4), ylim=(-1.4, float(y.max()) + 0.6))


def places(tree: Tree) -> tuple[Floats, Floats]:
    """The places of all nodes, (nodes,) each: words at height 0, a node above its highest child.

    >>> from structkit.structure.trees.brackets import read as read_tree
    >>> [each.tolist() for each in places(read_tree("(S (X a) (Y (X b) (X c)))"))]
    [[0.75, 0.0, 1.5, 1.0, 2.0], [2.0, 0.0, 1.0, 0.0, 0.0]]
    """
    import numpy as np

    x = tree.word.astype(np.float64)
    for node in reversed(range(len(x))):  # children before parents
        if tree.count[node]:
            children = tree.children(node)
            x[node] = (x[children[0]] + x[children[-1]]) / 2
    return x, np.array(_heights(tree), np.float64)


def _heights(tree: Tree) -> list[int]:
    heights = [0] * len(tree.first)
    for node in reversed(range(len(heights))):
        if tree.count[node]:
            heights[node] = 1 + max(heights[child] for child in tree.children(node))
    return heights


COMMAND = Command(trees, Settings, trees)
