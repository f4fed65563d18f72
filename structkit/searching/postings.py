"""The words of documents, counted, and their BM25 as Lucene computes it.

`search` computes all scores of a corpus once, `ask` those of a question's words, whose statistics
follow each change of a file. Sources: Robertson et al. 1994; Kamphuis et al. 2020.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Floats, Numbers, Vectors
from structkit.searching import K1, B
from structkit.searching.words import SHORTEST, WORD, same_stem, words

Counts = NDArray[np.int32]

STEP = 1 << 20  # postings that are scored together


def rarity(documents: int, having: int) -> float:
    """How much a word counts (idf) that so many of the documents have.

    >>> round(rarity(3, 1), 4)
    0.9808
    """
    without = documents - having
    return math.log(1 + (without + 0.5) / (having + 0.5))


def saturation(
    counts: Counts, lengths: Counts, mean: float, k1: float = K1, b: float = B
) -> Floats:
    """What a word's count in a document counts, by the document's length and the mean of all.

    >>> saturation(np.array([2]), np.array([3]), 2.0).round(4)
    array([0.4923])
    """
    share: Floats = counts / (k1 * ((1 - b) + b * lengths / mean) + counts)
    return share


@dataclass(frozen=True)
class Postings:
    """How often each word is in each document: word by word, documents in their order.

    The postings of the n-th word are `documents[starts[n] : starts[n + 1]]` and their `counts`.
    """

    words: list[str]
    lengths: Counts  # (documents,), words of each
    starts: Numbers  # (words + 1,)
    documents: Counts  # (postings,)
    counts: Counts  # (postings,)

    @classmethod
    def of(
        cls, names: Sequence[str], lengths: Counts, word: Numbers, document: Counts, counts: Counts
    ) -> Self:
        """Postings given in any order, without words that no document has any more."""
        order = np.argsort(word.astype(np.int64) << 32 | document)
        sizes = np.bincount(word, minlength=len(names))
        used = np.flatnonzero(sizes).tolist()
        starts = np.concatenate(([0], np.cumsum(sizes[used]))).astype(np.int64)
        columns = (each[order].astype(np.int32) for each in (document, counts))
        return cls([names[number] for number in used], lengths, starts, *columns)

    def scores(self, asked: Iterable[str]) -> Floats:
        """BM25 of each document, (documents,)."""
        total = np.zeros(len(self.lengths))
        number = {word: place for place, word in enumerate(self.words)}
        for place in (number[word] for word in asked if word in number):
            documents, scores = self._of_word(place)
            total[documents] += scores
        return total

    def related(self, asked: Iterable[str]) -> Floats:
        """BM25 by the best other word with the same stem as each word asked, (documents,)."""
        total = np.zeros(len(self.lengths))
        stems = {word: word[:SHORTEST] for word in asked}
        beginning = set(stems.values())
        places = [n for n, word in enumerate(self.words) if word[:SHORTEST] in beginning]
        for word in stems:
            highest = np.zeros(len(total))
            for place in places:
                if self.words[place] != word and same_stem(word, self.words[place]):
                    documents, scores = self._of_word(place)
                    highest[documents] = np.maximum(highest[documents], scores)
            total += highest
        return total

    def _of_word(self, place: int) -> tuple[Counts, Floats]:
        """The documents with a word, and its BM25 in each."""
        here = slice(self.starts[place], self.starts[place + 1])
        documents = self.documents[here]
        shares = saturation(self.counts[here], self.lengths[documents], self.lengths.mean())
        return documents, rarity(len(self.lengths), len(documents)) * shares

    def all_scores(self, k1: float, b: float) -> Vectors:
        """BM25 of each word in each of its documents, (postings,): in the numbers of bm25s."""
        sizes = np.diff(self.starts).tolist()
        rarities = [rarity(len(self.lengths), having) for having in sizes]
        idf = np.repeat(np.array(rarities, np.float32), sizes)
        mean = self.lengths.mean()
        scores = np.empty(len(self.counts), np.float32)
        for first in range(0, len(scores), STEP):
            here = slice(first, first + STEP)
            lengths = self.lengths[self.documents[here]]
            scores[here] = idf[here] * saturation(self.counts[here], lengths, mean, k1, b)
        return scores


class WordCounts:
    """The words of documents, counted one document after the other; each word has a number.

    >>> counts = WordCounts(["max"])
    >>> counts.add("max maxSize")
    >>> counts.number, counts.counts.tolist()
    ({'max': 0, 'maxsize': 1, 'size': 2}, [2, 1, 1])
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.number = {word: number for number, word in enumerate(known)}
        self.lengths, self.sizes = array("i"), array("i")  # (documents,): words, distinct words
        self.words, self.counts = array("q"), array("i")  # (postings,)
        self._numbers = cache(self._split)  # once, however often a word occurs

    def _split(self, word: str) -> list[int]:
        """The numbers of a word itself and of its parts."""
        number = self.number
        return [number.setdefault(each, len(number)) for each in words(word)]

    def add(self, text: str) -> None:
        """Count the words of one more document."""
        numbers = list(chain.from_iterable(map(self._numbers, WORD.findall(text))))
        counted = Counter(numbers)
        self.lengths.append(len(numbers))
        self.sizes.append(len(counted))
        self.words.extend(counted)
        self.counts.extend(counted.values())

    def columns(self, documents: Counts) -> tuple[Numbers, Counts, Counts]:
        """Word, document and count of each posting; `documents` are the numbers of those added."""
        every = np.repeat(documents, np.array(self.sizes, np.int32))
        return np.array(self.words, np.int64), every, np.array(self.counts, np.int32)
