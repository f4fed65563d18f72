"""Best place in an answer: its line or its sentence, and the symbol around that.

Lines are chosen by the same signals as passages: the words of the question with their stems, by
their rarity in the folder; names that are defined there; and the meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np

from structkit.embeddings.vectors import Floats, unit
from structkit.records.jsonl import Record
from structkit.searching import RELATED
from structkit.searching.lines import PROSE, begins, first_line, text_of
from structkit.searching.words import query_parts, same_stem, shared_words, words
from structkit.structure.bags import Bags
from structkit.structure.sentences import sentences

WINDOW = 3  # lines of code that are judged together
# the weights of a defined name, of the meaning, of a line with which something begins, and of the
# words of the first line alone: chosen on the passages of 28 questions of `make shown`
NAMED, MEANT, BEGINS, ALONE = 1.0, 1.0, 0.1, 0.5
HOLDING = 0.5  # the value of a name that holds others, which describe it better
LONGEST = 240  # characters of a quote
Embed = Callable[[Sequence[str], Bags], Floats]  # from texts and their pieces to unit rows


@dataclass(frozen=True)
class Parts:
    """The lines of code or the sentences of a document, and on which of its lines each begins."""

    record: Record
    texts: Sequence[str]
    lines: Sequence[int]  # from 0
    window: int  # how many are judged together

    @classmethod
    def of(cls, record: Record) -> Parts:
        """Return the parts of a document."""
        field, text = text_of(record)
        if field not in PROSE:
            rows = text.split("\n")
            return cls(record, rows, range(len(rows)), WINDOW)
        starts, quotes = zip(*_quotes(text), strict=True) if text.strip() else ((), ())
        return cls(record, quotes, [text.count("\n", 0, start) for start in starts], 1)


def _quotes(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text with their places, long ones in parts."""
    for start, end in sentences(text):
        while end - start > LONGEST and (blank := text.rfind(" ", start, start + LONGEST)) > start:
            yield start, text[start:blank]
            start = blank + 1
        yield start, text[start:end][:LONGEST]


def places(
    records: Sequence[Record], question: str, weights: Mapping[str, float], embed: Embed | None
) -> list[Record]:
    """Return the place in each document that answers best.

    `line` is its number if the text is as in its file. Prose has a `quote`, the sentence; code the
    `symbol` around the line, with its first and last line. `weights` are the words'.
    """
    every = [Parts.of(record) for record in records]
    texts = [question, *dict.fromkeys(text for parts in every for text in parts.texts)]
    rows = {text: row for row, text in enumerate(texts)}
    bags = Bags.of(texts)
    vectors = embed(texts, bags) if embed else None
    shares, found = _shares(bags, weights), list[Record]()
    for parts in every:
        own = [rows[text] for text in parts.texts]
        has, named = shares[own], _named(parts, question)
        scores = _scores(parts, has, named)
        if vectors is not None:
            scores = scores + MEANT * _closeness(parts, vectors[own]) @ vectors[0]
        answered = vectors is not None or bool(has.any())
        found.append(_place(parts, has, named, scores) if answered and len(scores) else {})
    return found


def _shares(bags: Bags, weights: Mapping[str, float]) -> Floats:
    """Return the share of each word of a question in texts, less by its stem, (texts, words)."""
    columns = {word: number for number, word in enumerate(weights)}
    shares = np.array([*weights.values()]) / (sum(weights.values()) or 1.0)

    @cache
    def matched(part: str) -> Sequence[int]:
        if part in columns:
            return [columns[part]]
        return [len(columns) + columns[word] for word in columns if same_stem(part, word)]

    of_pieces = ([*chain.from_iterable(map(matched, words(piece)))] for piece in bags.number)
    texts, found, _ = bags.spread(of_pieces)
    has = np.zeros((bags.size, 2 * len(columns)))
    has[texts, found] = 1.0
    whole, stems = np.split(has, 2, axis=1)
    return np.maximum(whole, RELATED * stems) * shares


def _named(parts: Parts, question: str) -> Floats:
    """Return how well the names that lines define match a question, (parts,)."""
    named, first = np.zeros(len(parts.texts)), first_line(parts.record) or 1
    asked = query_parts(question)
    symbols = parts.record.get("symbols", ())
    for name, top, line, end in symbols:
        if 0 <= (at := line - first) < len(named):
            holds = any(top < other[1] and other[3] <= end for other in symbols)
            share = HOLDING if holds else 1.0
            named[at] = max(named[at], share * shared_words(asked, name))
    return named


def _scores(parts: Parts, shares: Floats, named: Floats) -> Floats:
    """Score each part with the following ones, without their meaning, (parts,)."""
    together, names = shares.copy(), named.copy()
    for step in range(1, parts.window):
        np.maximum(together[:-step], shares[step:], out=together[:-step])
        np.maximum(names[:-step], named[step:], out=names[:-step])
    starts = [begins(parts.texts, at) for at in range(len(parts.texts))]
    scores = together.sum(1) + ALONE * shares.sum(1) + NAMED * names + BEGINS * np.array(starts)
    return np.where([bool(text.strip()) for text in parts.texts], scores, -np.inf)


def _closeness(parts: Parts, vectors: Floats) -> Floats:
    """Return unit embeddings of each part with the following ones, (parts, dimensions)."""
    weighted = vectors * np.array([len(text.strip()) for text in parts.texts])[:, None]
    total = weighted.copy()
    for step in range(1, parts.window):
        total[:-step] += weighted[step:]
    return unit(total)


def _place(parts: Parts, shares: Floats, named: Floats, scores: Floats) -> Record:
    """Return the best part as fields of its document."""
    first, best = first_line(parts.record), int(np.argmax(scores))
    if parts.window == 1:
        line = {} if first is None else {"line": first + parts.lines[best]}
        return {**line, "quote": parts.texts[best]}
    if first is None:
        return {}
    here = slice(best, best + parts.window)
    number = first + best + int(np.argmax(shares[here].sum(1) + NAMED * named[here]))
    return {"line": number, **_symbol(parts.record.get("symbols", ()), number)}


def _symbol(symbols: Iterable[tuple[str, int, int, int]], line: int) -> Record:
    """Return the innermost symbol around a line, and its lines."""
    around = [(end - top, name, top, end) for name, top, _, end in symbols if top <= line <= end]
    if not around:
        return {}
    _, name, top, end = min(around)
    return {"symbol": name, "symbol_lines": [top, end]}
