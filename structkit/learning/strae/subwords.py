"""The n-grams of a word's characters, and the buckets that they share, as fastText has them.

Tests: tests/learning/test_fasttext.py.
"""

from __future__ import annotations

from collections.abc import Iterator

SHORTEST, LONGEST = 3, 6  # characters of an n-gram (fastText's default)


def ngrams(word: str) -> Iterator[str]:
    """Yield the n-grams of `<word>`, with its ends marked; an end mark alone is not one.

    >>> list(ngrams("cat"))
    ['<ca', '<cat', '<cat>', 'cat', 'cat>', 'at>']
    """
    marked = f"<{word}>"
    for start in range(len(marked)):
        for end in range(start + SHORTEST, min(start + LONGEST, len(marked)) + 1):
            yield marked[start:end]


def buckets_of(word: str, buckets: int) -> list[int]:
    """Return the buckets of a word's n-grams."""
    return [fnv(gram) % buckets for gram in ngrams(word)]


def fnv(text: str) -> int:
    """Return FNV-1a of 32 bits over UTF-8 with signed bytes, as in fastText.

    >>> fnv("a")
    3826002220
    """
    value = 2166136261
    for byte in text.encode("utf-8", "surrogatepass"):
        value ^= byte if byte < 128 else byte | 0xFFFFFF00
        value = value * 16777619 & 0xFFFFFFFF
    return value
