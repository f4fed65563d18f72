"""Questions on the command line, and the lines of documents that answer them best."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

import orjson

from structkit.errors import UserError, flag
from structkit.records.fields import DOCUMENT
from structkit.records.jsonl import Record, Records
from structkit.records.lines import Block
from structkit.searching.words import PART, WORD, same_stem, words
from structkit.structure.spans import Span

TAB = 4
PROSE = ("text", "description", "untagged")


def question_records(
    questions: Sequence[str], files: Sequence[str], *, encoded: bool, texts: bool
) -> Records:
    """Questions as records with their numbers as ids; without any, the records of files.

    A question is a text: it is searched as `texts`, or `encoded`.
    """
    if not questions and not files:
        remedy = f"give {flag('query')} or {flag('queries')}"
        raise UserError("there are no queries", remedy, status=2)
    if not questions:
        return Records.read(files)
    if not encoded and not texts:
        remedy = f"name one, or search with {flag('method', 'bm25')}"
        problem = f"{flag('query')} needs {flag('model')}, which encodes it"
        raise UserError(problem, remedy, status=2)
    for question in questions:
        if not WORD.search(question):
            problem = f"{flag('query', repr(question))} holds no word"
            raise UserError(problem, "write a question", status=2)
    lines = [orjson.dumps({"query": unicode(question)}) + b"\n" for question in questions]
    return Records(Block(flag("query"), 0, 0, b"".join(lines)))


def unicode(text: str) -> str:
    """A text of the command line; bytes that are not UTF-8 are replaced."""
    return os.fsencode(text).decode("utf-8", "replace")


def is_for_a_list(questions: Sequence[str], output: str, format: str | None) -> bool:
    """Whether the answers are a list for a person at a terminal."""
    return bool(questions) and output == "-" and format is None and os.isatty(1)


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
    lines = _folded(record[field], _first_line(record, field), width, field in PROSE)
    rows = [row._replace(spans=occurrences(row.text, wanted)) for row in lines]
    return _without_margin(_best(rows, wanted, maximum))


def _first_line(record: Record, field: str) -> int | None:
    """The number of the first line of a text, if the text is as in its file."""
    lines = record.get("lines")
    if not (isinstance(lines, list) and len(lines) == 2 and all(type(n) is int for n in lines)):
        return None
    text: str = record[field]
    stands = text.rstrip("\n").count("\n") == lines[1] - lines[0]
    return int(lines[0]) if stands and not (field == "text" and "html" in record) else None


def _folded(text: str, first: int | None, width: int, prose: bool) -> Iterator[Line]:
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
    """The adjacent rows that match most of the question, with the best one in the middle."""
    if not rows:
        return []
    weights = [_weights(row, wanted) for row in rows]

    def worth(first: int) -> tuple[int, int, int]:
        together: Counter[str] = Counter()
        for row in weights[first : first + maximum]:
            together |= row
        middle = min(first + maximum // 2, len(rows) - 1)
        return together.total(), weights[middle].total(), -first

    best = max(range(max(1, len(rows) - maximum + 1)), key=worth)
    chosen = list(rows[best : best + maximum])
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


def _without_margin(rows: list[Line]) -> list[Line]:
    """The rows without the white space with which all of them begin."""
    margins = [len(row.text) - len(row.text.lstrip()) for row in rows if row.text]
    margin = min(margins, default=0)
    return [
        Line(
            row.number,
            row.text[margin:],
            tuple((start - margin, end - margin) for start, end in row.spans),
        )
        for row in rows
    ]
