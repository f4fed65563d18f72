"""The elements of a tagged document as lines, and which of them were masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from structkit.structure.html.elements import tokens_of


class Entry(NamedTuple):
    """An element or a text, at its depth in the document."""

    depth: int
    text: str
    is_tag: bool = False
    masked: bool = False


def outline(tagged: str, masked: str = "") -> list[Entry]:
    """The elements and texts of a document in order, without closing tags.

    An element is masked if its two tags are missing in `masked`, which has the same text.

    >>> [each[::3] + (each.text,) for each in outline("<ul><li>a</li></ul>", "<ul>a</ul>")]
    [(0, False, '<ul>'), (1, True, '<li>'), (2, False, 'a')]
    """
    tokens = tokens_of(tagged)
    missing = _missing(tokens, tokens_of(masked)) if masked else set()
    entries: list[Entry] = []
    depth = 0
    for number, token in enumerate(tokens):
        if token.startswith("</"):
            depth -= 1
        elif token.startswith("<"):
            entries.append(Entry(depth, token, True, number in missing))
            depth += not token.endswith("/>")
        elif text := " ".join(token.split()):
            entries.append(Entry(depth, text))
    return entries


def _missing(tokens: Sequence[str], masked: Sequence[str]) -> set[int]:
    """The numbers of the opening tags that the masked document lacks, with their closing ones."""
    places, others = _places(tokens), _places(masked)
    if places[-1] != others[-1]:  # the content is masked too
        return set()
    lacking = Counter(zip(tokens, places, strict=False))
    lacking -= Counter(zip(masked, others, strict=False))
    found: set[int] = set()
    opened: list[int] = []
    for number, token in enumerate(tokens):
        if token.startswith("</") and opened:  # inner elements first: they hold the text
            first = opened.pop()
            tags = [(tokens[first], places[first]), (token, places[number])]
            if all(lacking[tag] > 0 for tag in tags):
                lacking.subtract(tags)
                found.add(first)
        elif token.startswith("<") and not token.endswith("/>"):
            opened.append(number)
    return found


def _places(tokens: Sequence[str]) -> list[int]:
    """How many characters of text, blanks not counted, are before each token, and at the end."""
    places = [0]
    for token in tokens:
        places.append(places[-1] + (0 if token.startswith("<") else len("".join(token.split()))))
    return places
