"""Counts of the words of documents, and their BM25 as Lucene computes it.

`search` computes all scores of a corpus once, `ask` only a question's words, whose statistics
follow each change of a file. Sources: Robertson et al. 1994; Kamphuis et al. 2020.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Floats, Numbers, Vectors
from structkit.searching import K1, B
from structkit.searching.words import SHORTEST, same_stem, tokens, word_and_parts

Counts = NDArray[np.int32]

STEP = 1 << 20  # postings that are scored together


def rarity(documents: int, having: int) -> float:
    """Return the weight (idf) of a word that `having` of the documents have.

    >>> round(rarity(3, 1), 4)
    0.9808
    """
    without = documents - having
    return math.log(1 + (without + 0.5) / (having + 0.5))


def saturation(
    counts: Counts | Floats, lengths: Counts | Floats, mean: float, k1: float = K1, b: float = B
) -> Floats:
    """Return the saturated count of a word in a document, by its length and the mean of all.

    >>> saturation(np.array([2]), np.array([3]), 2.0).round(4)
    array([0.4923])
    """
    share: Floats = counts / (k1 * ((1 - b) + b * lengths / mean) + counts)
    return share


class WordList:
    r"""Words, each once, in one string, since a question looks up few of them.

    >>> some = WordList.of(["tea", "milk", "milky"])
    >>> list(some), some.place("milk"), some.place("mil"), list(some.beginning("mil"))
    (['tea', 'milk', 'milky'], 1, None, [(1, 'milk'), (2, 'milky')])
    """

    def __init__(self, data: bytes = b"\n") -> None:
        self.data = data  # a line break before each word, and one after all

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """Return the list of some words."""
        return cls("\n".join(["", *words, ""]).encode())

    def __iter__(self) -> Iterator[str]:
        return iter(self.data.decode().split("\n")[1:-1])

    def place(self, word: str) -> int | None:
        """Return the number of a word."""
        at = self.data.find(f"\n{word}\n".encode())
        return None if at < 0 else self.data.count(b"\n", 0, at)

    def beginning(self, start: str) -> Iterator[tuple[int, str]]:
        """Yield the numbers and the words that begin with `start`."""
        prefix, place, last = f"\n{start}".encode(), 0, 0
        at = self.data.find(prefix)
        while at >= 0:
            place += self.data.count(b"\n", last, at)
            end = self.data.index(b"\n", at + 1)
            yield place, self.data[at + 1 : end].decode()
            last, at = at, self.data.find(prefix, end)


@dataclass(frozen=True)
class Postings:
    """Counts of each word in each document: word by word, documents in their order.

    The postings of the n-th word are `documents[starts[n] : starts[n + 1]]` and their `counts`.
    """

    words: WordList
    lengths: Counts  # (documents,), words of each
    starts: Numbers  # (words + 1,)
    documents: Counts  # (postings,)
    counts: Counts  # (postings,)

    @classmethod
    def of(
        cls, names: Sequence[str], lengths: Counts, word: Numbers, document: Counts, counts: Counts
    ) -> Self:
        """Merge a few sorted runs of postings, without words that no document has any more."""
        order = np.argsort(word.astype(np.int64) << 32 | document, kind="stable")
        sizes = np.bincount(word, minlength=len(names))
        used = np.flatnonzero(sizes)
        if len(used) < len(names):
            names = [names[number] for number in used.tolist()]
        starts = np.concatenate(([0], np.cumsum(sizes[used]))).astype(np.int64)
        columns = (each[order].astype(np.int32) for each in (document, counts))
        return cls(WordList.of(names), lengths, starts, *columns)

    def between(self, first: int, last: int) -> Self:
        """Return the postings of documents `first` to before `last`, as if there were no others.

        Words that none of these has stay, without postings.
        """
        within = (self.documents >= first) & (self.documents < last)
        starts = np.concatenate(([0], np.cumsum(within)))[self.starts]
        documents = self.documents[within].astype(np.int32) - first
        counts = self.counts[within]
        return type(self)(self.words, self.lengths[first:last], starts, documents, counts)

    def scores(self, asked: Iterable[str] | Mapping[str, float]) -> Floats:
        """Return BM25 of each document, (documents,); words may have weights."""
        total = np.zeros(len(self.lengths))
        weights = asked if isinstance(asked, Mapping) else Counter(asked)
        for word, weight in weights.items():
            if (place := self.words.place(word)) is not None:
                here = self._postings(place)
                documents, counts = self.documents[here], self.counts[here]
                total[documents] += weight * self._bm25(documents, counts)
        return total

    def related(self, asked: Iterable[str]) -> Floats:
        """Return BM25 of the other words with the stems of those asked, (documents,)."""
        total = np.zeros(len(self.lengths))
        for word in dict.fromkeys(asked):
            counts = self._counts_of(word, itself=False)
            having = np.flatnonzero(counts)
            total[having] += self._bm25(having, counts[having])
        return total

    def counts_of(self, asked: Iterable[str]) -> Counts:
        """Count each word, or others with its stem, in each document, (documents, words)."""
        columns: dict[str, Counts] = {}
        for word in asked:
            if not any(same_stem(word, other) for other in columns):
                columns[word] = self._counts_of(word, itself=True)
        return np.array([*columns.values()], np.int32).reshape(-1, len(self.lengths)).T

    def rarities(self, asked: Iterable[str]) -> dict[str, float]:
        """Return the weights (idf) of the words that a document has."""
        places = {word: self.words.place(word) for word in asked}
        having = {
            word: int(self.starts[place + 1] - self.starts[place])
            for word, place in places.items()
            if place is not None
        }
        return {word: rarity(len(self.lengths), count) for word, count in having.items() if count}

    def weights(self, asked: Iterable[str]) -> dict[str, float]:
        """Return the weights (idf) of words; a missing one counts as others with its stem."""
        words = list(asked)
        known = self.rarities(words)
        for word in words:
            if word not in known:
                having = int(np.count_nonzero(self._counts_of(word, itself=False)))
                known[word] = rarity(len(self.lengths), having)
        return known

    def _counts_of(self, word: str, *, itself: bool) -> Counts:
        """Count the words with a word's stem in each document, (documents,)."""
        counts = np.zeros(len(self.lengths), np.int32)
        for place, other in self.words.beginning(word[:SHORTEST]):
            if same_stem(word, other) and (itself or other != word):
                here = self._postings(place)
                counts[self.documents[here]] += self.counts[here]
        return counts

    def _postings(self, place: int) -> slice:
        return slice(self.starts[place], self.starts[place + 1])

    def _bm25(self, having: Counts | Numbers, counts: Counts) -> Floats:
        """Return BM25 of a word in each document that has it, by its counts."""
        counts = counts.astype(np.int32)  # they may be kept as smaller numbers
        shares = saturation(counts, self.lengths[having], self.lengths.mean())
        return rarity(len(self.lengths), len(having)) * shares

    def all_scores(self, k1: float, b: float) -> Vectors:
        """Return BM25 of each word in each of its documents, (postings,), as bm25s has it."""
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
        number = self.number  # by `self`, a cycle would keep all this in memory

        @cache  # once, however often a word occurs
        def numbers(word: str) -> tuple[int, ...]:
            return tuple([number.setdefault(each, len(number)) for each in word_and_parts(word)])

        self._numbers = numbers

    def add(self, text: str) -> None:
        """Count the words of one more document."""
        numbers = list(chain.from_iterable(map(self._numbers, tokens(text, document=True))))
        counted = Counter(numbers)
        self.lengths.append(len(numbers))
        self.sizes.append(len(counted))
        self.words.extend(counted)
        self.counts.extend(counted.values())

    def extend(self, names: Iterable[str], numbers: Sequence[array[int]]) -> None:
        """Count documents that another process has counted: its names, and its `arrays`."""
        number = self.number
        own = np.array([number.setdefault(name, len(number)) for name in names], np.int64)
        lengths, sizes, words, counts = numbers
        self.lengths += lengths
        self.sizes += sizes
        self.words.frombytes(own[words].tobytes())
        self.counts += counts

    @property
    def arrays(self) -> tuple[array[int], ...]:
        """All counts, without the words themselves."""
        return self.lengths, self.sizes, self.words, self.counts

    def columns(self, documents: Counts) -> tuple[Numbers, Counts, Counts]:
        """Return word, document and count of each posting, sorted, for added `documents`."""
        word, counts = np.array(self.words, np.int64), np.array(self.counts, np.int32)
        every = np.repeat(documents, np.array(self.sizes, np.int32))
        order = np.argsort(word << 32 | every)
        return word[order], every[order], counts[order]
