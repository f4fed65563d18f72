"""Texts that are trees: a model that reads both can tell one from the other."""

from __future__ import annotations

from dataclasses import replace

from structkit.errors import UserError
from structkit.records.jsonl import Record, text_field
from structkit.structure.trees.brackets import UNLABELED, read, write
from structkit.structure.trees.tree import from_merges


def leaves_of(text: str) -> tuple[str, ...] | None:
    """The words of a tree as `text_or_tree` writes it; None where the text is not such a tree.

    All its nodes are X. Anything else in brackets is text, which loses no word:
    `(Laughs (quietly now) again)` could be a tree of two words with labels before them.

    >>> leaves_of("(X (X he) (X laughs))"), leaves_of("(he (laughs out))")
    (('he', 'laughs'), None)
    """
    if not text.startswith(f"({UNLABELED} ") or not text.rstrip().endswith(")"):
        return None
    try:
        tree = read(text)
    except UserError:
        return None
    return tree.words if set(tree.labels) == {UNLABELED} else None


def text_or_tree(record: Record, name: str, remedy: str = "") -> str:
    """The text in a field; of `tree` or `FIELD_tree`, the tree in the form of `leaves_of`.

    >>> text_or_tree({"tree": "(S the cat)"}, "tree")
    '(X (X the) (X cat))'
    """
    text = text_field(record, name, remedy)
    if name != "tree" and not name.endswith("_tree"):
        return text
    tree = read(text)
    if len(tree.words) == 1:
        tree = from_merges(tree.words, [])
    return write(replace(tree, labels=(UNLABELED,) * len(tree.labels)))
