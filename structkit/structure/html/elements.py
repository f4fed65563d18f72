"""A tagged text, as `html-variants` writes it: its elements, and its masked variants.

Such a text is regular: every `<` starts a tag, every tag ends at the next `>`, every tag is closed
by its own end tag, and in texts `&`, `<` and `>` are references.

Tests: tests/structure/html/test_html_laws.py.
"""

import random
from collections.abc import Sequence

from structkit.structure.html.markup import SPACES
from structkit.structure.html.tags import SEPARATING_ELEMENTS

BLOCK_TAGS = frozenset(f"<{slash}{name}>" for name in SEPARATING_ELEMENTS for slash in ("", "/"))
# places, among the tokens, of the two tags of an element with its own text
Element = tuple[int, int]


def masked_count(elements: int, ratio: float) -> int:
    """Return the number of elements of a share: rounded, at least one.

    >>> [masked_count(elements, 0.1) for elements in (0, 1, 14, 15, 100)]
    [0, 1, 1, 2, 10]
    """
    return min(elements, max(1, int(ratio * elements + 0.5)))


def mask_elements(
    tokens: Sequence[str],
    elements: Sequence[Element],
    ratio: float,
    rng: random.Random,
    *,
    content: bool = False,
) -> str:
    """Return the joined tokens with a share of elements masked: their tags or their content.

    A block tag leaves a space where words would be glued otherwise. Source: SEAL, section 3.3.
    """
    drawn = rng.sample(elements, masked_count(len(elements), ratio))
    if content:
        return _without_content(tokens, drawn)
    removed = sorted(index for element in drawn for index in element)
    return "".join(_without_tags(tokens, removed))


def _without_tags(tokens: Sequence[str], removed: Sequence[int]) -> list[str]:
    """Return the tokens without some tags."""
    result = list(tokens)
    gone = set(removed)
    before = last = -1  # `before` is the last token before that is not empty
    for index in removed:
        if last != index - 1 or result[last]:
            before = index - 1
        last = index
        result[index] = ""
        if tokens[index] in BLOCK_TAGS and before >= 0 and not _separates(result[before], -1):
            after = index + 1
            while after in gone and tokens[after] not in BLOCK_TAGS:
                after += 1
            if after < len(tokens) and (after in gone or not _separates(tokens[after], 0)):
                result[index] = " "
    return result


def _separates(token: str, side: int) -> bool:
    """Return whether a token needs no space at its first (0) or last (-1) character."""
    return token in BLOCK_TAGS if token[0] == "<" else token[side] in SPACES


def _without_content(tokens: Sequence[str], drawn: Sequence[Element]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(drawn):
        if start < at:
            continue  # inside a removed one
        parts += tokens[at:start]
        if tokens[start] in BLOCK_TAGS:
            parts.append(" ")
        at = end + 1
    return "".join([*parts, *tokens[at:]]).strip(SPACES)
