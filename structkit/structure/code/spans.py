"""Stretches of text."""

from __future__ import annotations

from typing import TypeAlias

# A stretch of a text, text[start:end]: half-open, in characters. A plain pair, because there is
# one for every name of a program and a class would cost a tenth of the whole masking.
Span: TypeAlias = tuple[int, int]


def from_bytes(text: str, data: bytes, spans: list[Span]) -> list[Span]:
    """Spans of the UTF-8 bytes of a text as spans of its characters.

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
