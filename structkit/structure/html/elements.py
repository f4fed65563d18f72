"""A tagged text, as `html-variants` writes it: its elements, its plain text, its masked variants.

Such a text is regular: every `<` starts a tag, every tag ends at the next `>`, every tag is closed
by its own end tag, and in texts `&`, `<` and `>` are references. No parser is needed to read it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from structkit.structure.html.markup import SPACES
from structkit.structure.html.tags import SEPARATORS

BLOCKS = frozenset(f"<{slash}{name}>" for name in SEPARATORS for slash in ("", "/"))
# the places of the two tags of an element with text of its own among the tokens
Element = tuple[int, int]


def tokens_of(tagged: str) -> list[str]:
    """The tags and texts of a tagged text.

    >>> tokens_of("<p>a <b>c</b></p>")
    ['<p>', 'a ', '<b>', 'c', '</b>', '</p>']
    """
    tokens = []
    for piece in tagged.split(">"):
        text, sign, tag = piece.partition("<")
        if text:
            tokens.append(text)
        if sign:
            tokens.append(f"<{tag}>")
    return tokens


def elements_of(tokens: Sequence[str]) -> list[Element]:
    """The elements with direct text, in the order of their end tags.

    >>> elements_of(tokens_of("<div><p>a</p> <p><b>c</b></p></div>"))
    [(1, 3), (6, 8)]
    """
    elements = []
    starts: list[int] = []
    direct: list[bool] = [False]
    for index, token in enumerate(tokens):
        if token[0] != "<":
            if not direct[-1]:
                direct[-1] = not token.isspace()
        elif token[1] != "/":
            starts.append(index)
            direct.append(False)
        else:
            start = starts.pop()
            if direct.pop():
                elements.append((start, index))
    return elements


def untag(tagged: str) -> str:
    """The text of a tagged text: a block tag becomes a space, an inline tag nothing.

    >>> untag("<h1>A &amp; B</h1><p>w<b>or</b>d</p>")
    'A & B word'
    """
    parts = []
    for token in tokens_of(tagged):
        if token[0] != "<":
            parts.append(token)
        elif token in BLOCKS:
            parts.append(" ")
    return unescape(" ".join("".join(parts).split()))


def unescape(text: str) -> str:
    """The text with `&lt;`, `&gt;` and `&amp;` decoded once."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def count(elements: int, ratio: float) -> int:
    """How many elements a share is: rounded, at least one.

    >>> [count(elements, 0.1) for elements in (0, 1, 14, 15, 100)]
    [0, 1, 1, 2, 10]
    """
    return min(elements, max(1, int(ratio * elements + 0.5)))


def remask(tagged: str, ratio: float, rng: random.Random) -> str:
    """A tagged text with the two tags of a share of its elements removed and their text kept.

    Equal to `masked` of the same text for the same random numbers.

    >>> remask("<h1>A</h1><p>b</p>", 0.5, random.Random(2))
    'A<p>b</p>'
    """
    tokens = tokens_of(tagged)
    return mask(tokens, elements_of(tokens), ratio, rng)


def mask(
    tokens: Sequence[str],
    elements: Sequence[Element],
    ratio: float,
    rng: random.Random,
    *,
    content: bool = False,
) -> str:
    """The tokens joined, without the two tags of a share of the elements, or without all of them.

    A block tag leaves a space where words would be glued otherwise. Source: SEAL, section 3.3.
    """
    drawn = rng.sample(elements, count(len(elements), ratio))
    if content:
        return _without_content(tokens, drawn)
    removed = sorted(index for element in drawn for index in element)
    return "".join(_without(tokens, removed))


def _without(tokens: Sequence[str], removed: Sequence[int]) -> list[str]:
    """The tokens without some tags."""
    result = list(tokens)
    gone = set(removed)
    before = last = -1  # `before` is the last token before that is not empty
    for index in removed:
        if last != index - 1 or result[last]:
            before = index - 1
        last = index
        result[index] = ""
        if tokens[index] in BLOCKS and before >= 0 and not _separates(result[before], -1):
            after = index + 1
            while after in gone and tokens[after] not in BLOCKS:
                after += 1
            if after < len(tokens) and (after in gone or not _separates(tokens[after], 0)):
                result[index] = " "
    return result


def _separates(token: str, side: int) -> bool:
    """Whether a token needs no space at its first (0) or last (-1) character."""
    return token in BLOCKS if token[0] == "<" else token[side] in SPACES


def _without_content(tokens: Sequence[str], drawn: Sequence[Element]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(drawn):
        if start < at:
            continue  # inside one that is removed
        parts += tokens[at:start]
        if tokens[start] in BLOCKS:
            parts.append(" ")
        at = end + 1
    return "".join([*parts, *tokens[at:]]).strip(SPACES)


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
