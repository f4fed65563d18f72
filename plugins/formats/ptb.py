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
    """Return a tree unchanged, on one line, with traces, function tags and the empty top."""
    read(row["tree"])
    return row


def write_tree(record: Fields) -> Row:
    """Return a tree. Errors: it cannot be read again."""
    tree = " ".join(record.pop_field("tree").split())
    read(tree)
    return {"tree": tree}
