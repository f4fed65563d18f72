"""Words of code and prose, as lexical search and the display of its hits see them."""

from __future__ import annotations

import re
from os.path import commonprefix

WORD = re.compile(r"\w+")
PART = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# the 33 of Lucene's EnglishAnalyzer
STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)

# what follows a stem that two words share: both have one of these, or the shorter has nothing
ENDINGS = frozenset(
    "e y s d r es ed er ers or ors ing ings ion ions ation ations ies ied able ables ity ities "
    "al als ment ments".split()
)
SHORTEST = 3  # characters of a stem


def words(text: str, stopwords: bool = True) -> list[str]:
    """The lower-case words of code or prose; an identifier counts whole and in its parts.

    Parts end at underscores and within camelCase. `stopwords` leaves out English stopwords.

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


def same_stem(one: str, other: str) -> bool:
    """Whether two words differ only in their endings.

    >>> same_stem("retries", "retry"), same_stem("config", "configuration")
    (True, False)
    """
    shared = len(commonprefix((one, other)))
    rests = {one[shared:], other[shared:]} - {""}
    return not rests or (shared >= SHORTEST and rests <= ENDINGS)
