"""Stretches of text. Tests: tests/commands/test_mask_entities.py."""

from __future__ import annotations

from typing import TypeAlias

# A stretch of a text, text[start:end]: half-open, in characters. A plain pair, because there is
# one for every name of a program and a class would cost a tenth of the whole masking.
Span: TypeAlias = tuple[int, int]
ENDLESS = (1 << 62, 1 << 62)


def from_bytes(text: str, data: bytes, spans: list[Span]) -> list[Span]:
    """Convert spans of a text's UTF-8 bytes to spans of its characters.

    `spans` are in text order and do not overlap.

    >>> from_bytes("é = x", "é = x".encode(), [(0, 2), (5, 6)])
    [(0, 1), (4, 5)]
    """
    if len(data) == len(text):
        return spans
    in_characters: list[Span] = []
    character, byte = 0, 0
    for start, end in spans:
        begin = character + len(data[byte:start].decode())
        character, byte = begin + len(data[start:end].decode()), end
        in_characters.append((begin, character))
    return in_characters


def spans_outside(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Return the spans that are not in one of the holes; holes are in order of their start.

    >>> spans_outside([(0, 1), (2, 3), (4, 5)], [(2, 4)])
    [(0, 1), (4, 5)]
    """
    kept: list[Span] = []
    rest = iter(holes)
    start, end = next(rest)
    for span in spans:
        while span[0] >= end:
            start, end = next(rest, ENDLESS)
        if span[1] <= start:
            kept.append(span)
    return kept
