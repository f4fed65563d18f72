"""A text as the words of its tree: the tokens of the Penn Treebank."""

from __future__ import annotations

from nltk.tokenize import NLTKWordTokenizer

_TOKENIZER = NLTKWordTokenizer()


def words_of(text: str) -> list[str]:
    """The words of a text, punctuation included; needs no data of nltk's.

    >>> words_of("It isn't so.")
    ['It', 'is', "n't", 'so', '.']
    """
    found: list[str] = _TOKENIZER.tokenize(text)
    return found
