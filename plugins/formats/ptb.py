"""Penn Treebank brackets: trees over any number of lines; written one per line."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record
from structkit.structure.trees.brackets import read


class Format(plugin.Format):
    """Trees."""

    def parts(self, split: str) -> Parts:
        files = (f"{split}.mrg", "*.mrg", "*.ptb")
        return {"trees": Part(files, read_tree, write_tree, "brackets")}


def read_tree(row: Fields) -> Record:
    """A tree as it is, on one line; traces, function tags and the empty top stay."""
    read(row["tree"])
    return row


def write_tree(record: Fields) -> Row:
    """A tree; one that cannot be read again raises."""
    tree = " ".join(record.pop_field("tree").split())
    read(tree)
    return {"tree": tree}
