"""Words of code and prose, as lexical search and the display of its hits see them."""

from __future__ import annotations

import re

WORD = re.compile(r"\w+")
PART = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# the 33 of Lucene's EnglishAnalyzer
STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)


def words(text: str, stopwords: bool = True) -> list[str]:
    """The lower-case words of code or prose; an identifier counts whole and in its parts.

    Parts end at underscores and where camelCase goes on. `stopwords` leaves English ones out.

    >>> words("def readHTTPBody(self, max_size):")
    ['def', 'readhttpbody', 'read', 'http', 'body', 'self', 'max_size', 'max', 'size']
    """
    lowered: list[str] = []
    for word in WORD.findall(text):
        lower = word.lower()
        lowered.append(lower)
        if lower != word or "_" in word:
            parts = [part for part in PART.split(word) if part]
            if len(parts) > 1:
                lowered.extend(map(str.lower, parts))
    return [word for word in lowered if word not in STOPWORDS] if stopwords else lowered
