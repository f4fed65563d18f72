"""Passages that are similar to the one with a line of a file: by its words and its meaning.

Tests: tests/commands/test_ask.py.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Self

from structkit.asking.answers import fuse
from structkit.asking.cache import Target
from structkit.asking.folder import Folder
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError, flag
from structkit.records.fields import document_text
from structkit.records.jsonl import Record
from structkit.searching import BM25_K1, HYBRID_EMBEDDING_WEIGHT, MIN_FUSION_DEPTH
from structkit.searching.fusion import deepen
from structkit.searching.hits import Hit
from structkit.searching.words import folded_words

if TYPE_CHECKING:
    from structkit.asking.meaning import Meaning  # a folder without a model has none

# as many as Lucene's MoreLikeThis asks for. Of 118 passages of files that answer one question, 25
# words and SHARE find the other files with nDCG@10 0.536, words alone with 0.482, the table with
# 0.509; 50 words 0.560, but other files that define the same name with an RR@10 of 0.568, not 0.588
MAX_ASKED_WORDS = 25


# a line, or the first of some: `a.py:12`, `a.py:12-20`, and the `doc_id` of a chunk, `a.py#L12-20`
PLACE_TEXT = re.compile(r"(.+)(?::|#L)([1-9]\d{0,8})(?:-\d{1,9})?", re.DOTALL)


class Place(NamedTuple):
    """A line of a file, from 1; or 0 and the name of a section, as in its `doc_id`."""

    file: str
    line: int
    section: str = ""

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a place.

        >>> Place.of("src/shapes.py:12"), tuple(Place.of("shapes.md#circles"))
        (Place(file='src/shapes.py', line=12, section=''), ('shapes.md', 0, 'circles'))
        """
        if place := PLACE_TEXT.fullmatch(text):
            return cls(place[1], int(place[2]))
        file, _, section = text.partition("#")
        if not (file and section):
            problem = f"{flag('like', text)} is not FILE:LINE"
            raise UserError(problem, "write it as src/shapes.py:12", status=2)
        return cls(file, 0, section)

    def passage(self, folder: Folder, target: Target) -> tuple[int, Record]:
        """Return the number and the record of the shortest passage with this line."""
        path, first = target.relative_path(os.path.realpath(self.file)), 0
        for file in folder.files:
            if file.path == path:
                break
            first += file.passages
        else:
            remedy = "name the folder that has it, and a file that is read"
            raise UserError(f"is no file with passages in {target}", remedy).at(self.file)
        records = folder.records(range(first, first + file.passages))
        sizes = dict[int, int]()
        for number, record in records.items():
            top, end = record["lines"]
            if top <= self.line <= end or record["id"] == f"{path}#{self.section}":
                sizes[number] = end - top
        if not sizes:
            remedy = "name a line with text"
            raise UserError("is in no passage", remedy).at(self.file, self.line)
        number = min(sizes, key=sizes.__getitem__)
        return number, records[number]


def similar(
    folder: Folder,
    example: tuple[int, Record],
    k: int,
    chosen: Floats,
    meaning: Meaning | None = None,
) -> tuple[str, list[tuple[Hit, Record]]]:
    """Return the words of the search, and the k most similar passages, best first.

    `example` is its number and its record; it is not among them. The words are those with the
    highest weight in its own BM25. The others are `chosen`, (passages,).
    """
    number, record = example
    others = chosen.copy()
    others[number] = 0
    counted = Counter(folded_words(document_text(record, paths=True)))
    weights = {
        word: idf * counted[word] / (BM25_K1 + counted[word])
        for word, idf in folder.words.idf_of(counted).items()
    }
    asked = sorted(weights, key=lambda word: (-weights[word], word))[:MAX_ASKED_WORDS]
    by_word = folder.words.scores(asked) * others
    scores = meaning.similar(number) * others if meaning else 0 * by_word
    if meaning and meaning.maxsim:
        first = fuse(folder, by_word, scores, MIN_FUSION_DEPTH, HYBRID_EMBEDDING_WEIGHT)
        scores = meaning.maxsim.scores(document_text(record), *first, "document")
    by_id: dict[str, Record] = {}

    def ranked(depth: int) -> list[Hit]:
        hits, records = fuse(
            folder, by_word, scores, depth, HYBRID_EMBEDDING_WEIGHT if meaning else 0
        )
        by_id.update((record["id"], record) for record in records.values())
        return hits

    return " ".join(asked), [(hit, by_id[hit.doc_id]) for hit in deepen(ranked, k)[:k]]
