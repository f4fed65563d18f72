"""Penn Treebank brackets: trees over any number of lines; written one per line."""

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record
from structkit.structure.trees.brackets import read_tree


class Format(plugin.Format):
    """Trees."""

    def parts(self, split: str) -> Parts:
        files = (f"{split}.mrg", "*.mrg", "*.ptb")
        return {"trees": Part(files, checked_tree, written_tree, "brackets")}


def checked_tree(row: Fields) -> Record:
    """Return a tree unchanged, on one line, with traces, function tags and the empty top."""
    read_tree(row["tree"])
    return row


def written_tree(record: Fields) -> Row:
    """Return a tree. Errors: it cannot be read again."""
    tree = " ".join(record.pop_field("tree").split())
    read_tree(tree)
    return {"tree": tree}
