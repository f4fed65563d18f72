"""A text as the words of its tree: the tokens of the Penn Treebank."""

from __future__ import annotations

from itertools import pairwise

from structkit.structure.sentences import sentences
from structkit.structure.trees.brackets import unescaped
from structkit.structure.trees.treebank import tokenize


def words_of(text: str, *, tokenized: bool = False) -> list[str]:
    """The words of a text, punctuation included.

    A text that is `tokenized` has white space between all its words. The Treebank's escapes of
    brackets are decoded; quotes are the Treebank's, `` and ''.

    >>> words_of("He left, e.g. home. It isn't so.")
    ['He', 'left', ',', 'e.g.', 'home', '.', 'It', 'is', "n't", 'so', '.']
    """
    if tokenized:
        words = text.split()
    else:
        # the Treebank's rules split off a period only at the end of a sentence
        starts = [start for start, _ in sentences(text)][1:]
        places = pairwise([0, *starts, len(text)])
        words = [word for start, end in places for word in tokenize(text[start:end])]
    return [unescaped(word) for word in words] if "-" in text else words
