"""Words of code, prose and names, and the lines of a document that have most of a question's."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain
from os.path import commonprefix
from pathlib import PurePosixPath
from typing import NamedTuple

from structkit.records.fields import DOCUMENT
from structkit.records.jsonl import Record
from structkit.structure.spans import Span

WORD = re.compile(r"\w+")
PART = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# the 33 of Lucene's EnglishAnalyzer
STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)

# what follows a stem that two words share: both have one of these, or the shorter has nothing
ENDINGS = frozenset(
    "e y s d r es ed er ers or ors ing ings ion ions ation ations ies ied able ables ity ities "
    "al als ment ments".split()
)
SHORTEST = 3  # characters of a stem
# beyond Lucene's, what questions consist of and names do not
QUESTION = frozenset("how does do what where which when why can from using via".split())
# files named after their role in a folder, whose own name tells more
ROLES = frozenset("index init main lib mod package doc".split())
SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:::|\\|->|\.|#)[^\W\d]\w*)*")
SEPARATOR = re.compile(r"::|\\|->|\.|#")

TAB = 4
PROSE = ("text", "description", "untagged")


def words(text: str) -> list[str]:
    """The lower-case words of code or prose but stopwords; an identifier also in its parts.

    Parts end at underscores and within camelCase.

    >>> words("def readHTTPBody(self, max_size):")
    ['def', 'readhttpbody', 'read', 'http', 'body', 'self', 'max_size', 'max', 'size']
    """
    return list(chain.from_iterable(map(word_and_parts, WORD.findall(text))))


@lru_cache(maxsize=1 << 17)
def word_and_parts(word: str) -> tuple[str, ...]:
    """A word in lower case and then its parts, if it has several; without stopwords."""
    lower = word.lower()
    parts = []
    if lower != word or "_" in word:
        parts = [part.lower() for part in PART.split(word) if part]
    every = (lower, *parts) if len(parts) > 1 else (lower,)
    return tuple(each for each in every if each not in STOPWORDS)


def question_words(question: str) -> list[str]:
    """The words of a question that an answer may have, each once.

    >>> question_words("How does the HTTPClient retry?")
    ['httpclient', 'http', 'client', 'retry']
    """
    every = dict.fromkeys(words(question))
    return [word for word in every if word not in QUESTION] or list(every)


def same_stem(one: str, other: str) -> bool:
    """Whether two words differ only in their endings.

    >>> same_stem("retries", "retry"), same_stem("config", "configuration")
    (True, False)
    """
    if one[:SHORTEST] != other[:SHORTEST]:  # as of most words
        return False
    shared = len(commonprefix((one, other)))
    rests = {one[shared:], other[shared:]} - {""}
    return not rests or (shared >= SHORTEST and rests <= ENDINGS)


@lru_cache(maxsize=1 << 16)
def name_parts(name: str) -> tuple[str, ...]:
    """The lower-case words that a name is made of, each once.

    >>> name_parts("src/HTTPClient_pool.py")
    ('src', 'http', 'client', 'pool', 'py')
    """
    lowered = (part.lower() for word in WORD.findall(name) for part in PART.split(word) if part)
    return tuple(dict.fromkeys(lowered))


def query_parts(query: str) -> tuple[str, ...]:
    """The words of a query that may occur in names.

    >>> query_parts("how does the HTTPClient retry")
    ('http', 'client', 'retry')
    """
    return tuple(
        word for word in name_parts(query) if word not in STOPWORDS and word not in QUESTION
    )


@lru_cache(maxsize=1 << 16)
def alike(one: str, other: str) -> bool:
    """Whether two words have the same stem, or one begins with the other.

    >>> alike("routing", "router"), alike("config", "configuration"), alike("context", "content")
    (True, True, False)
    """
    shorter, longer = sorted((one, other), key=len)
    begins = len(shorter) >= SHORTEST and longer.startswith(shorter)
    return begins or same_stem(one, other)


@lru_cache(maxsize=1 << 16)
def file_and_folders(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a file's name, and those of its folders.

    >>> file_and_folders("src/http_client/retry.test.ts")
    (('retry', 'test'), ('src', 'http', 'client'))
    >>> file_and_folders("src/routing/mod.rs")
    (('routing',), ('src',))
    """
    place = PurePosixPath(path)
    name, folder = name_parts(place.stem), place.parent
    if ROLES.issuperset(name[:1]) and folder.name:
        name, folder = name_parts(folder.name), folder.parent
    return name, name_parts(str(folder))


def symbols(query: str) -> list[list[str]]:
    """The symbols that a query writes, each by its qualifiers and its name.

    A single word is one; among several, those that are qualified or written like an identifier.

    >>> symbols("Router"), symbols("how Foo.bar calls to_json")
    ([['Router']], [['Foo', 'bar'], ['to_json']])
    """
    symbols = [SEPARATOR.split(text) for text in SYMBOL.findall(query)]
    if len(query.split()) == 1:
        return symbols
    return [names for names in symbols if len(names) > 1 or len(name_parts(names[0])) > 1]


def plain_name(name: str) -> str:
    """A name without its style: `foo_bar`, `fooBar` and `FooBar` are `foobar`."""
    return "".join(name_parts(name))


class Line(NamedTuple):
    """A line as it is shown, its number in the file, and the words in it that were asked for."""

    number: int | None
    text: str
    spans: tuple[Span, ...] = ()


def best_rows(record: Record, question: str, maximum: int, width: int) -> list[Line]:
    r"""At most so many lines of a document, those that have most of the question's words.

    Lines of prose are folded to the width. They have numbers if the text is that of the file.

    >>> record = {"code": "import re\n\ndef wait():\n    retry_later()", "lines": [1, 4]}
    >>> [(row.number, row.text, row.spans) for row in best_rows(record, "when to retry?", 1, 80)]
    [(4, 'retry_later()', ((0, 5),))]
    """
    field = next((name for name in DOCUMENT if isinstance(record.get(name), str)), None)
    if field is None:
        return []
    wanted = frozenset(words(question))
    lines = _fold(record[field], _first_line(record, field), width, field in PROSE)
    rows = [row._replace(spans=occurrences(row.text, wanted)) for row in lines]
    return _without_margin(_best(rows, wanted, maximum), wanted)


def _first_line(record: Record, field: str) -> int | None:
    """The number of the first line of a text, if the text is as in its file."""
    lines = record.get("lines")
    if not (isinstance(lines, list) and len(lines) == 2 and all(type(n) is int for n in lines)):
        return None
    text: str = record[field]
    stands = text.rstrip("\n").count("\n") == lines[1] - lines[0]
    return int(lines[0]) if stands and not (field == "text" and "html" in record) else None


def _fold(text: str, first: int | None, width: int, prose: bool) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines() if first is None else text.split("\n")):
        here = None if first is None else first + number
        plain = line.expandtabs(TAB).rstrip()
        parts = textwrap.wrap(plain, width, break_on_hyphens=False) if prose else [plain]
        for part in parts or [""]:
            yield Line(here, part)


def occurrences(text: str, wanted: Set[str]) -> tuple[Span, ...]:
    """Where the wanted words, or others with their stems, are in a line.

    >>> occurrences("maxRetries = retry", {"retries"})
    ((3, 10), (13, 18))
    """
    spans: list[Span] = []
    for match in WORD.finditer(text):
        word, first = match[0], match.start()
        pieces = [(0, len(word))]
        if not _is_wanted(word.lower(), wanted):
            cuts = [0, *(at for cut in PART.finditer(word) for at in cut.span()), len(word)]
            pieces = list(zip(cuts[::2], cuts[1::2], strict=True))
        spans += [
            (first + start, first + end)
            for start, end in pieces
            if _is_wanted(word[start:end].lower(), wanted)
        ]
    return tuple(spans)


def _is_wanted(word: str, wanted: Set[str]) -> bool:
    """Whether a word is wanted, or another one with its stem."""
    return word in wanted or any(same_stem(word, other) for other in wanted)


def _best(rows: Sequence[Line], wanted: Set[str], maximum: int) -> list[Line]:
    """The first row that matches most of the question, with as many before it as after it.

    Where the text begins or ends there, more of the other side.
    """
    weights = [_weights(row, wanted).total() for row in rows]
    best = max(range(len(rows)), key=lambda number: (weights[number], -number), default=0)
    first = max(0, min(best - maximum // 2, len(rows) - maximum))
    chosen = list(rows[first : first + maximum])
    while chosen and not chosen[-1].text:
        chosen.pop()
    while chosen and not chosen[0].text:
        chosen.pop(0)
    return chosen


def _weights(row: Line, wanted: Set[str]) -> Counter[str]:
    """The weight of each wanted word in a row: its length, or half for another with its stem.

    A long word is rarely there by chance.
    """
    letters: Counter[str] = Counter()
    for start, end in row.spans:
        word = row.text[start:end].lower()
        if word in wanted:
            letters[word] = 2 * len(word)
            continue
        for other in wanted:
            if same_stem(word, other):
                letters[other] = max(letters[other], len(other))
    return letters


def _without_margin(rows: Sequence[Line], wanted: Set[str]) -> list[Line]:
    """The rows without the white space with which all of them begin."""
    texts = textwrap.dedent("\n".join(row.text for row in rows)).split("\n") if rows else []
    return [
        Line(row.number, text, occurrences(text, wanted))
        for row, text in zip(rows, texts, strict=True)
    ]
