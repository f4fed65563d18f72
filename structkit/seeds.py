"""Randomness keyed by (seed, record id): the same bytes in any order, shard or worker."""

from __future__ import annotations

import hashlib
import random


def key(seed: int, *parts: str | int) -> int:
    """Return a 64-bit number that depends only on the seed and every part.

    >>> key(0, "a", "bc") != key(0, "ab", "c")
    True
    """
    text = "\0".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "big")


def random_for(seed: int, *parts: str | int) -> random.Random:
    """Return a random generator for one record (and epoch, and purpose).

    >>> random_for(0, "doc-1").random() == random_for(0, "doc-1").random()
    True
    """
    return random.Random(key(seed, *parts))
