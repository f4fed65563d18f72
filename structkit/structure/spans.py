"""Stretches of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of a text: `text[start:end]`, half-open, in characters."""

    start: int
    end: int


def from_bytes(text: str, data: bytes, spans: Iterable[tuple[int, int]]) -> list[Span]:
    """Spans of the UTF-8 bytes of a text as spans of its characters.

    `spans` are in text order and do not overlap.

    >>> from_bytes("é = x", "é = x".encode(), [(0, 2), (5, 6)])
    [Span(start=0, end=1), Span(start=4, end=5)]
    """
    make = Span._make
    if len(data) == len(text):
        return [make(span) for span in spans]
    found, character, byte = [], 0, 0
    for start, end in spans:
        begin = character + len(data[byte:start].decode())
        character, byte = begin + len(data[start:end].decode()), end
        found.append(Span(begin, character))
    return found
