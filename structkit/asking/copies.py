"""Answers without copies: the same text in another file takes no place of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structkit.records.jsonl import Record
from structkit.scoring.runs import Hit
from structkit.searching.lines import PROSE, text_of
from structkit.searching.words import tokens

SAME = 0.6  # of the runs of words of the shorter prose: a page and its source differ in their marks
RUN = 3  # words


def without_copies(found: Iterable[tuple[Hit, Record]]) -> Iterator[tuple[Hit, Record]]:
    """Yield the answers whose text differs from every better one's in another file."""
    kept: list[tuple[str, frozenset[tuple[str, ...]]]] = []
    for hit, record in found:
        path, runs = record["path"], runs_of(record)
        if not any(path != other and _is_copy(runs, of) for other, of in kept):
            kept.append((path, runs))
            yield hit, record


def runs_of(record: Record) -> frozenset[tuple[str, ...]]:
    """Return what is compared: runs of words of prose, code without blanks."""
    field, text = text_of(record)
    if field not in PROSE:
        return frozenset([tuple(text.split())])
    words = [word.lower() for word in tokens(text.replace("_", " "))]
    return frozenset(tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))


def _is_copy(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    return len(one & other) >= SAME * min(len(one), len(other))
