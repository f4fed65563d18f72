"""Plain text to sentences, by rules: where one ends, and where a mark only looks like an end.

Tests: tests/collecting/test_units.py.
"""

import re
from collections.abc import Iterator

SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[」』”’]*")
OPENING_MARKS = "\"'“‘«([{"
# a line that begins a new paragraph
LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•·]|\d{1,3}[.)])[ \t]+\S")
ABBREVIATIONS = frozenset(
    """
    adj adv al approx apr assn aug ave bros ca capt cf co col corp dec dept diff dr e.g ed eds eg
    eqn esp est et etc feb fri gen gov hon i.e ie inc jan jr jul jun lt ltd mar max messrs min
    misc mon mr mrs ms mt n.b nb nov oct op pres prof pt pub ref refs rep reps resp rev rs sat sen
    sens sep sept sgt sr st sun tel thu tue u.k u.s univ v vs wed
    """.split()
)
# abbreviations only before a number: otherwise they may be words
NUMBERED_ABBREVIATIONS = frozenset(
    "art ch chap eq ex fig figs no nos para pp sec sect tab vol vols".split()
)
ABBREVIATIONS_LIKE_WORDS = frozenset(
    "mar pub rep reps sat sun wed".split()
)  # words unless capitalized
INITIALS = re.compile(r"(?:[A-Z]\.){1,3}[A-Z]")
MAX_ABBREVIATION_CHARACTERS = 15  # characters of an abbreviation


def sentences(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the places of sentences, in each paragraph or list item.

    >>> text = "Dr. No met J. Smith.  He said why, e.g. so.\n\n- one\n- two"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Dr. No met J. Smith.', 'He said why, e.g. so.', '- one', '- two']
    """
    for first, last in _paragraphs(text):
        start = first
        for match in SENTENCE_END.finditer(text, first, last):
            if match.start() > start and _is_end(text, start, match.start(), match.end(), last):
                yield from _with_words(text, start, match.end())
                start = match.end()
        yield from _with_words(text, start, last)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = at = 0
    for line in text.split("\n"):
        end = at + len(line)
        if not line.strip():
            yield start, at
            start = end
        elif LIST_ITEM.match(line):
            yield start, at
            start = at
        at = end + 1
    yield start, len(text)


def _with_words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a range without white space around it, if it has any words."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if any(map(str.isalnum, piece)):
        yield start, start + len(piece)


def _is_end(text: str, start: int, at: int, after: int, last: int) -> bool:
    """Return whether the punctuation at a place ends a sentence."""
    rest = text[after : min(after + 80, last)].lstrip()
    if not rest or text[at] in "。！？":
        return True
    first = rest.lstrip(OPENING_MARKS)[:1]
    if first.islower():
        return False
    if text[at:after] != ".":
        return True
    word = text[max(start, at - MAX_ABBREVIATION_CHARACTERS) : at]
    word = word[max(word.rfind(sign) for sign in " \t\n") + 1 :].lstrip(OPENING_MARKS)
    if word.lower() in NUMBERED_ABBREVIATIONS:
        return not first.isdecimal()
    if word in ABBREVIATIONS_LIKE_WORDS:
        return True
    if word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return word.lower() == "etc" and first.isupper()
    if INITIALS.fullmatch(word):
        return not first.isupper()
    if word.isdecimal() and not text[start : at - len(word)].strip():
        return False  # the number of an item
    return True
