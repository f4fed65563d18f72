"""The n-grams of a word's characters, in buckets as fastText has them."""

from collections.abc import Iterator

MIN_NGRAM_CHARACTERS = 3  # fastText's defaults
MAX_NGRAM_CHARACTERS = 6


def ngrams(word: str) -> Iterator[str]:
    """Yield the n-grams of `<word>`, with its ends marked; an end mark alone is not one.

    >>> list(ngrams("cat"))
    ['<ca', '<cat', '<cat>', 'cat', 'cat>', 'at>']
    """
    marked = f"<{word}>"
    for start in range(len(marked)):
        longest = min(start + MAX_NGRAM_CHARACTERS, len(marked))
        for end in range(start + MIN_NGRAM_CHARACTERS, longest + 1):
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
