"""The punctuation at the end of a text, which belongs to the whole, not to one of its phrases."""

from __future__ import annotations

from collections.abc import Sequence


def before_final_punct(words: Sequence[str]) -> int:
    """How many words precede the punctuation at the end; 1 where there is nothing else.

    >>> before_final_punct(["He", "left", ".", "''"]), before_final_punct(["?", "!"])
    (2, 1)
    """
    last = len(words)
    while last > 1 and not any(map(str.isalnum, words[last - 1])):
        last -= 1
    return last


def without_last(depths: Sequence[int], count: int) -> list[int]:
    """The depths of a binary tree's leaves without the last `count`: siblings take their places.

    >>> without_last([1, 2, 2], 1), without_last([2, 2, 2, 2], 1), without_last([2, 2, 1], 2)
    ([1, 1], [2, 2, 1], [0])
    """
    kept = list(depths)
    for _ in range(count):
        depth = kept.pop()
        # the leaves of the sibling fill as much as the last leaf did: 2 to the power of -depth
        place, missing, deepest = len(kept), 1, depth
        while missing:
            place -= 1
            if kept[place] > deepest:
                missing <<= kept[place] - deepest
                deepest = kept[place]
            missing -= 1 << (deepest - kept[place])
            kept[place] -= 1
    return kept
