"""A text as the words of its tree: the tokens of the Penn Treebank."""

from __future__ import annotations

from structkit.structure.trees.brackets import unescaped
from structkit.structure.trees.treebank import tokenize


def words_of(text: str, *, tokenized: bool = False) -> list[str]:
    """The words of a text, punctuation included.

    A text that is `tokenized` has white space between all its words. The Treebank's escapes of
    brackets are decoded; quotes are the Treebank's, `` and ''.

    >>> words_of("It isn't so.")
    ['It', 'is', "n't", 'so', '.']
    """
    words = text.split() if tokenized else tokenize(text)
    return [unescaped(word) for word in words] if "-" in text else words
