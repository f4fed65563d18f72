"""Names for parts of a file and for pages of a crawl, each of which is given once.

Tests: tests/collecting/test_naming.py.
"""

import unicodedata
from collections import Counter

KEPT_CATEGORIES = ("Nd", "Nl", "Pc")  # beside all letters and marks


class UniqueNames:
    """Names that are given once: a repeated one gets the next number that is free.

    >>> names = UniqueNames("-", 1)
    >>> [names.take(name) for name in ("fixed", "fixed", "fixed-1", "fixed")]
    ['fixed', 'fixed-1', 'fixed-1-1', 'fixed-2']
    """

    def __init__(self, separator: str, first: int) -> None:
        self.separator = separator
        self.first = first  # number of the second of equal names
        self.taken: set[str] = set()
        self.counts: Counter[str] = Counter()

    def take(self, name: str) -> str:
        """Return the name, or with a number if it is taken."""
        if name in self.taken:
            return self.take_numbered(name)
        self.taken.add(name)
        return name

    def take_numbered(self, name: str) -> str:
        """Return the name with a number."""
        while True:
            numbered = f"{name}{self.separator}{self.first + self.counts[name]}"
            self.counts[name] += 1
            if numbered not in self.taken:
                self.taken.add(numbered)
                return numbered


def slug(text: str) -> str:
    """Return a heading as an anchor, as GitHub makes it before it numbers repeated ones.

    Source: the npm package github-slugger 2, which has GitHub's characters.

    >>> slug("What's new?"), slug("🚀 Start")
    ('whats-new', '-start')
    """
    return "".join(filter(_is_kept, text.lower())).replace(" ", "-")


def _is_kept(sign: str) -> bool:
    if sign.isalpha() or sign in " -_":
        return True
    category = unicodedata.category(sign)
    return category[0] == "M" or category in KEPT_CATEGORIES
