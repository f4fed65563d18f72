"""Reproducibility: randomness keyed by seed and record id, the same in any order, shard or worker.

Equal bits from equal runs of torch are `make_repeatable` of structkit.processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random


def key(seed: int, *parts: str | int) -> int:
    """Return a 64-bit number that depends only on the seed and every part.

    >>> key(0, "a", "bc") != key(0, "ab", "c")
    True
    """
    from hashlib import blake2b  # 3 ms that `import structkit` need not pay

    text = "\0".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode("utf-8"), digest_size=8).digest(), "big")


def random_for(seed: int, *parts: str | int) -> Random:
    """Return a random generator for one record (and epoch, and purpose).

    >>> random_for(0, "doc-1").random() == random_for(0, "doc-1").random()
    True
    """
    from random import Random  # 2 ms that `import structkit` need not pay

    return Random(key(seed, *parts))
