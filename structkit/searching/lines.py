"""The lines of a document that a list shows: the answer, or the best match of a question.

Tests: tests/searching/test_questions.py, tests/asking/test_places.py.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from structkit.records.fields import DOCUMENT_FIELDS
from structkit.records.jsonl import Record
from structkit.searching.words import (
    SYMBOL_SEPARATOR,
    fold,
    folded_words,
    normalize,
    occurrences,
    same_stem,
)
from structkit.structure import Span

TAB_COLUMNS = 4
MIN_CONTEXT_ROWS = 3  # rows, of which one may be the signature
PROSE_FIELDS = ("text", "description", "untagged")
# marks before the first word of a comment, and of a list item
LINE_COMMENT_MARKS = r"\s*(?:[/#;*]+\s*)?"
LIST_ITEM = re.compile(rf"{LINE_COMMENT_MARKS}(?:[-+•]|\d{{1,3}}[.)])\s+\S")


class Line(NamedTuple):
    """A line as it is shown, its number in the file, and the words in it that were asked for."""

    number: int | None
    text: str
    spans: tuple[Span, ...] = ()


def field_and_text(record: Record) -> tuple[str, str]:
    """Return the field with the text of a document, and the text; empty if it has none."""
    field = next((name for name in DOCUMENT_FIELDS if isinstance(record.get(name), str)), "")
    return field, record.get(field, "")


def best_rows(record: Record, question: str, maximum: int, width: int) -> list[Line]:
    r"""Return at most `maximum` lines of a document that match the question best.

    For an answer of `ask` these are lines around its `line`, or from its `quote` on. Lines of prose
    are folded to the width. They have numbers if the text is the file's.

    >>> record = {"code": "import re\n\ndef wait():\n    retry_later()", "lines": [1, 4]}
    >>> [(row.number, row.text, row.spans) for row in best_rows(record, "when to retry?", 1, 80)]
    [(4, 'retry_later()', ((0, 5),))]
    """
    field, text = field_and_text(record)
    if not field:
        return []
    terms, prose = frozenset(folded_words(question)), field in PROSE_FIELDS
    first, line, quote = first_line_number(record), record.get("line"), record.get("quote")
    line = line if type(line) is int else None
    start = text.find(quote) if prose and isinstance(quote, str) else -1
    if start >= 0:
        text, first = text[start:], line
    rows = [*_fold(text, first, width, prose)]
    numbers = [row.number for row in rows]
    if start >= 0:
        shown = _rows_from(rows, 0, maximum)
    elif line is not None and line in numbers:
        shown = _rows_with_symbol(rows, numbers.index(line), maximum, record)
    else:
        shown = _rows_from(rows, _best_row(rows, terms) - maximum // 2, maximum)
    return _without_margin(shown, terms)


def first_line_number(record: Record) -> int | None:
    """Return the number of the first line of a document's text, if the text is as in its file."""
    field, text = field_and_text(record)
    lines = record.get("lines")
    if not (isinstance(lines, list) and len(lines) == 2 and all(type(n) is int for n in lines)):
        return None
    is_unchanged = text.rstrip("\n").count("\n") == lines[1] - lines[0]
    return int(lines[0]) if is_unchanged and not (field == "text" and "html" in record) else None


def _fold(text: str, first: int | None, width: int, prose: bool) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines() if first is None else text.split("\n")):
        row_number = None if first is None else first + number
        plain = line.expandtabs(TAB_COLUMNS).rstrip()
        parts = textwrap.wrap(plain, width, break_on_hyphens=False) if prose else [plain]
        for part in parts or [""]:
            yield Line(row_number, part)


def starts_blocks(rows: Sequence[str]) -> list[bool]:
    """Return whether something begins with each row: it follows a blank one, or is an item."""
    is_row_full = [bool(row.strip()) for row in rows]
    rows_with_previous = zip(rows, is_row_full, [False, *is_row_full], strict=False)
    return [
        is_full and (not is_full_above or LIST_ITEM.match(row) is not None)
        for row, is_full, is_full_above in rows_with_previous
    ]


def _rows_with_symbol(rows: Sequence[Line], best: int, maximum: int, record: Record) -> list[Line]:
    """Return `maximum` rows with the best one: its symbol's signature, and its block.

    If no block begins nearby, as many rows come before the best one as after it.
    """
    signature, top = _symbol_rows(rows, record)
    if top is not None and best - maximum < top <= best:
        return _rows_from(rows, top, maximum)
    before, after = list[Line](), 0
    if signature is not None and signature < best and maximum >= MIN_CONTEXT_ROWS:
        before, after, maximum = [rows[signature]], signature + 1, maximum - 1
    starts = starts_blocks([row.text for row in rows])
    nearest = range(best, max(best - maximum, -1), -1)
    begin = next((at for at in nearest if at == signature or starts[at]), None)
    begin = best - maximum // 2 if begin is None else begin
    return [*before, *_rows_from(rows[after:], begin - after, maximum)]


def _symbol_rows(rows: Sequence[Line], record: Record) -> tuple[int | None, int | None]:
    """Return the rows that name the symbol of an answer and begin its comments, if present."""
    name, lines, first = record.get("symbol"), record.get("symbol_lines"), rows[0].number
    if not isinstance(name, str) or not isinstance(lines, list) or first is None:
        return None, None
    top = lines[0] - first
    definition = re.compile(rf"(?!\s*[/#;*]).*\b{re.escape(SYMBOL_SEPARATOR.split(name)[-1])}\b")
    named = (at for at in range(max(top, 0), len(rows)) if definition.match(rows[at].text))
    return next(named, None) if top >= 0 else None, top


def _best_row(rows: Sequence[Line], terms: Set[str]) -> int:
    """Return the first row that matches the question best."""
    weights = [_word_weights(row.text, terms).total() for row in rows]
    return max(range(len(rows)), key=weights.__getitem__, default=0)


def _rows_from(rows: Sequence[Line], begin: int, maximum: int) -> list[Line]:
    """Return `maximum` rows from one on, without blank ones at both ends."""
    first = max(0, min(begin, len(rows) - maximum))
    shown = range(first, min(first + maximum, len(rows)))
    rows_with_text = [row for row in shown if rows[row].text]
    return list(rows[rows_with_text[0] : rows_with_text[-1] + 1]) if rows_with_text else []


def _word_weights(text: str, terms: Set[str]) -> Counter[str]:
    """Return the weight of each asked word in a row: its length, or half by its stem.

    A long word is rarely there by chance.
    """
    letters: Counter[str] = Counter()
    for start, end in occurrences(text, terms):
        word = fold(normalize(text[start:end]))
        if word in terms:
            letters[word] = 2 * len(word)
            continue
        for other in terms:
            if same_stem(word, other):
                letters[other] = max(letters[other], len(other))
    return letters


def _without_margin(rows: Sequence[Line], terms: Set[str]) -> list[Line]:
    """Return the rows without their common indentation."""
    texts = textwrap.dedent("\n".join(row.text for row in rows)).split("\n") if rows else []
    return [
        Line(row.number, text, occurrences(text, terms))
        for row, text in zip(rows, texts, strict=True)
    ]
