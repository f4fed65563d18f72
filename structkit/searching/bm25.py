"""BM25 as Lucene computes it, and the counts of the words of documents that it needs.

`search` computes all scores of a corpus once (`Postings.all_scores`), `ask` only those of a
question's words (`WordIndex`), whose statistics follow each change of a file; of manuals it adds
those of their pages (`page_scores`). Sources: Robertson et al. 1994; Kamphuis et al. 2020.

Tests: tests/searching/test_postings.py.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structkit.embeddings.vectors import Floats, IntArray, Vectors, scatter_rows, top_k
from structkit.searching import BM25_B, BM25_K1, PREFIX_WORD_WEIGHT
from structkit.searching.words import MIN_STEM_CHARACTERS, document_words, same_stem, shortens
from structkit.structure.bags import Bags

Counts = NDArray[np.int32]

POSTINGS_PER_BLOCK = 1 << 20  # postings that are scored together
MAX_CACHED_WORDS = 64  # words whose postings are at hand
LAST_CHARACTER = chr(sys.maxunicode)
POSTINGS_ARRAYS = ("lengths", "starts", "documents", "counts")
TYPE_NAME_BYTES = 8  # of the name of a type
# of pages, which differ more in length than passages do: the best of k1 1.5, 2, 3 and 5, and of
# b 0.75, 0.9 and 1, on 1,350 training pages of structdoc
PAGE_K1 = 3.0
PAGE_B = 0.9
BEST_PASSAGES_PER_PAGE = (
    3  # passages of a page: 1, 3, 5 and 10 gave nDCG@10 0.807, 0.811, 0.799 and 0.764 there
)


def idf(documents: int, frequency: int) -> float:
    """Return the weight (idf) of a word that `frequency` of the documents have.

    >>> round(idf(3, 1), 4)
    0.9808
    """
    without = documents - frequency
    return math.log(1 + (without + 0.5) / (frequency + 0.5))


def saturation(
    counts: Counts | Floats,
    lengths: Counts | Floats,
    mean: float,
    k1: float = BM25_K1,
    b: float = BM25_B,
) -> Floats:
    """Return the saturated count of a word in a document, by its length and the mean of all.

    >>> saturation(np.array([2]), np.array([3]), 2.0).round(4)
    array([0.4923])
    """
    share: Floats = counts / (k1 * ((1 - b) + b * lengths / mean) + counts)
    return share


@dataclass(frozen=True)
class Postings:
    """Counts of each word in each document: word by word, documents in any order.

    The postings of the n-th word are `documents[starts[n] : starts[n + 1]]` and their `counts`.
    """

    words: list[str]  # sorted
    lengths: Counts  # (documents,), words of each
    starts: IntArray  # (words + 1,)
    documents: Counts  # (postings,)
    counts: Counts  # (postings,)

    @classmethod
    def of_bags(cls, bags: Bags) -> Self:
        """Return the postings of texts from the pieces of each.

        >>> postings = Postings.of_bags(Bags.of(["max maxSize"]))
        >>> [*postings.words], postings.counts.tolist()
        (['max', 'maxsize', 'size'], [2, 1, 1])
        """
        number = defaultdict[str, int](int)
        number.default_factory = number.__len__
        parts = ([*map(number.__getitem__, document_words(piece))] for piece in bags.number)
        texts, words, counts = bags.spread(parts)
        lengths = np.bincount(texts, counts, bags.size).astype(np.int32)
        names = sorted(number)
        word_numbers = np.argsort([number[name] for name in names])  # of each number
        keys = word_numbers[words] * bags.size + texts
        order = np.argsort(keys, kind="stable")  # fast for a few sorted runs
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))  # of equal ones, whose counts are added
        words, documents = np.divmod(keys[first], max(1, bags.size))
        counts = np.add.reduceat(counts[order], first) if len(first) else counts
        starts = np.searchsorted(words, np.arange(len(names) + 1))
        return cls(names, lengths, starts, smallest(documents), smallest(counts))

    @classmethod
    def join(cls, parts: Sequence[Postings]) -> Self:
        """Return one of several, whose documents follow each other."""
        ends = np.cumsum([len(part.lengths) for part in parts])
        numbers = np.split(np.arange(ends[-1]), ends[:-1])
        return cls.merge([*zip(parts, numbers, strict=True)])

    @classmethod
    def merge(cls, parts: Sequence[tuple[Postings, IntArray]]) -> Self:
        """Return one of several, each given with the new numbers of its documents, or -1.

        No document is in two. Words that no document has are left out.
        """
        words = sorted({word for part, _ in parts for word in part.words})
        number_of = {word: place for place, word in enumerate(words)}
        sizes = np.zeros(len(words), np.int64)
        places_and_sizes = list[tuple[IntArray, IntArray]]()  # of each part's words
        for part, numbers in parts:
            own = np.fromiter(map(number_of.__getitem__, part.words), np.int64)
            added = part.sizes_among(numbers)
            sizes[own] += added
            places_and_sizes.append((own, added))
        ends = np.cumsum(sizes)
        free = ends - sizes  # the place of each word's next posting
        documents, counts = (np.empty(sizes.sum(), np.int32) for _ in range(2))
        for (part, numbers), (own, added) in zip(parts, places_and_sizes, strict=True):
            here = numbers[part.documents]
            kept, firsts = here >= 0, np.cumsum(added) - added
            places = np.arange(added.sum()) + (free[own] - firsts).repeat(added)
            documents[places], counts[places] = here[kept], part.counts[kept]
            free[own] += added
        used = np.flatnonzero(sizes)
        starts = np.concatenate(([0], ends[used]))
        lengths = scatter_rows([(part.lengths, numbers) for part, numbers in parts])
        return cls([words[place] for place in used.tolist()], lengths, starts, documents, counts)

    def sizes_among(self, numbers: IntArray) -> IntArray:
        """Return how many of a word's documents have a number from 0, (words,)."""
        before = np.concatenate(([0], np.cumsum(numbers[self.documents] >= 0)))
        return np.diff(before[self.starts])

    @classmethod
    def read(cls, data: Mapping[str, bytes]) -> Self:
        """Restore the postings from their `data`."""
        arrays: Any = {name: unpack_integers(data[name]) for name in POSTINGS_ARRAYS}
        return cls(data["words"].decode().split("\n")[1:], **arrays)

    def data(self) -> dict[str, bytes]:
        """Return the data that `read` needs, by name."""
        arrays = {name: pack_integers(getattr(self, name)) for name in POSTINGS_ARRAYS}
        return {"words": "\n".join(["", *self.words]).encode(), **arrays}

    def place(self, word: str) -> int | None:
        """Return the number of a word."""
        place = bisect_left(self.words, word)
        return place if self.words[place : place + 1] == [word] else None

    def beginning_as(self, word: str) -> list[str]:
        """Return the words that begin as a word does.

        >>> Postings.of_bags(Bags.of(["milk tea milky"])).beginning_as("mild")
        ['milk', 'milky']
        """
        start = word[:MIN_STEM_CHARACTERS]
        first = bisect_left(self.words, start)
        return self.words[first : bisect_left(self.words, start + LAST_CHARACTER, first)]

    def all_scores(self, k1: float, b: float) -> Vectors:
        """Return BM25 of each word in each of its documents, (postings,), as bm25s has it."""
        sizes = np.diff(self.starts).tolist()
        weights = [idf(len(self.lengths), frequency) for frequency in sizes]
        of_postings = np.repeat(np.array(weights, np.float32), sizes)
        mean = self.lengths.mean()
        scores = np.empty(len(self.counts), np.float32)
        for first in range(0, len(scores), POSTINGS_PER_BLOCK):
            block = slice(first, first + POSTINGS_PER_BLOCK)
            lengths = self.lengths[self.documents[block]]
            scores[block] = of_postings[block] * saturation(
                self.counts[block], lengths, mean, k1, b
            )
        return scores


def pack_integers(numbers: NDArray[Any]) -> bytes:
    """Return integers from 0 in the smallest type, after its name."""
    small = smallest(numbers)
    return small.dtype.str.ljust(TYPE_NAME_BYTES).encode() + small.tobytes()


def smallest(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return integers from 0 in the smallest type."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def unpack_integers(data: bytes) -> NDArray[Any]:
    """Return the integers in the bytes that `pack_integers` returned.

    >>> unpack_integers(pack_integers(np.array([3, 256])))
    array([  3, 256], dtype=uint16)
    """
    return np.frombuffer(data, data[:TYPE_NAME_BYTES].decode().strip(), offset=TYPE_NAME_BYTES)


class WordIndex:
    """The words of documents, and their BM25, from one or several postings.

    Each is given with the numbers here of its documents; -1 for one that is not here.
    """

    def __init__(self, parts: Sequence[tuple[Postings, IntArray]]) -> None:
        self.parts = parts
        self.lengths: Counts = scatter_rows([(part.lengths, numbers) for part, numbers in parts])
        # a question's words are looked up several times
        self._having = lru_cache(MAX_CACHED_WORDS)(partial(_documents_and_counts, parts))

    def scores(self, asked: Iterable[str] | Mapping[str, float]) -> Floats:
        """Return BM25 of each document, (documents,); words may have weights."""
        total = np.zeros(len(self.lengths))
        for word, weight in Counter(asked).items():
            documents, counts = self._having(word)
            total[documents] += weight * self._bm25(documents, counts)
        return total

    def related_scores(self, asked: Iterable[str]) -> Floats:
        """Return BM25 of other forms of the words asked, (documents,)."""
        total = np.zeros(len(self.lengths))
        for word in dict.fromkeys(asked):
            for counts, weight in self._forms(word):
                having = np.flatnonzero(counts)
                total[having] += weight * self._bm25(having, counts[having])
        return total

    def counts_of(self, asked: Iterable[str]) -> Counts:
        """Count each word, or others with its stem, in each document, (documents, words)."""
        columns: dict[str, Counts] = {}
        for word in asked:
            if not any(same_stem(word, other) for other in columns):
                columns[word] = self._counts_of_stem(word)
        return np.array([*columns.values()], np.int32).reshape(len(columns), len(self.lengths)).T

    def idf_of(self, asked: Iterable[str]) -> dict[str, float]:
        """Return the weights (idf) of the words that a document has."""
        having = {word: len(self._having(word)[0]) for word in asked}
        return {word: idf(len(self.lengths), count) for word, count in having.items() if count}

    def idf_of_stems(self, asked: Iterable[str]) -> dict[str, float]:
        """Return the weights (idf) of words; a missing one counts as others with its stem."""
        words = list(asked)
        known = self.idf_of(words)
        for word in words:
            if word not in known:
                having = int(np.count_nonzero(self._counts_of_stem(word)))
                known[word] = idf(len(self.lengths), having)
        return known

    def _counts_of_stem(self, word: str) -> Counts:
        """Count the words with a word's stem in each document, (documents,)."""
        return self._count(other for other in self.beginning_as(word) if same_stem(word, other))

    def _forms(self, word: str) -> Iterator[tuple[Counts, float]]:
        """Yield counts of other forms of a word in each document, (documents,), and their weights.

        They are words with its stem; shorter words that it begins with; two words that it joins,
        as often as both are there; and longer words that begin with it, if no document has it.
        Three letters are too few to begin such a word: nonsense does so, too.
        """
        near = self.beginning_as(word)
        stems = {other for other in near if same_stem(word, other)}
        known = any(len(self._having(start)[0]) for start in stems)
        min_characters = MIN_STEM_CHARACTERS if known else MIN_STEM_CHARACTERS + 1
        starts = [word[:size] for size in range(MIN_STEM_CHARACTERS, len(word) - 1)]
        short = {
            f"{start}{s}" for start in starts for s in ("", "s") if len(start) >= min_characters
        }
        short = {other for other in near & short if shortens(word, other)}
        forms = [(stems - {word}, 1.0), (short - stems, PREFIX_WORD_WEIGHT)]
        if not known and len(word) >= min_characters:
            long = {other for other in near if len(other) > len(word) and shortens(word, other)}
            forms.append((long - stems, 1.0))
        yield from ((self._count(words), weight) for words, weight in forms if words)
        for start in starts:
            rest = word.removeprefix(start)
            if start in near and len(rest) >= MIN_STEM_CHARACTERS:
                yield np.minimum(self._count([start]), self._count([rest])), 1.0

    def beginning_as(self, word: str) -> set[str]:
        """Return the words that begin as a word does."""
        return {other for part, _ in self.parts for other in part.beginning_as(word)}

    def _count(self, words: Iterable[str]) -> Counts:
        """Count some words in each document together, (documents,)."""
        total = np.zeros(len(self.lengths), np.int32)
        for documents, counts in map(self._having, words):
            total[documents] += counts
        return total

    def _bm25(self, having: IntArray, counts: Counts) -> Floats:
        """Return BM25 of a word in each document that has it, by its counts."""
        shares = saturation(counts, self.lengths[having], self.lengths.mean())
        return idf(len(self.lengths), len(having)) * shares


def _documents_and_counts(
    parts: Sequence[tuple[Postings, IntArray]], word: str
) -> tuple[IntArray, Counts]:
    """Return the documents that have a word, by their numbers, and its count in each."""
    columns = [(np.empty(0, np.int64), np.empty(0, np.int32))]
    for part, numbers in parts:
        if (place := part.place(word)) is not None:
            postings = slice(part.starts[place], part.starts[place + 1])
            documents = numbers[part.documents[postings]]
            is_here = documents >= 0
            columns.append((documents[is_here], part.counts[postings][is_here]))
    documents, counts = map(np.concatenate, zip(*columns, strict=True))
    return documents, counts


def page_scores(
    counts: Counts, lengths: Counts, pages: IntArray
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return scores of passages, and which are among the best of their pages, (passages,) each.

    `counts` has the count of each asked word in each passage, (passages, words); `pages` the number
    of each one's page. A score, 0 … 1, is the mean of three: BM25 of the page, of the passage, and
    of the page's best passages.
    """
    page_count = pages.max() + 1
    of_pages = np.zeros((page_count, counts.shape[1]))
    np.add.at(of_pages, pages, counts)  # (pages, words)
    page_lengths = np.bincount(pages, weights=lengths).astype(float)
    page_idf = _idf_of_columns(of_pages)
    page_bm25 = _bm25_of_rows(of_pages, page_lengths, page_idf, PAGE_K1, PAGE_B)
    # a word that each row of a table has is rare among pages, and no word is on a single page
    passage_bm25 = _bm25_of_rows(counts, lengths, np.sqrt(page_idf * _idf_of_columns(counts)))
    is_best = places_in_groups(passage_bm25, pages) < BEST_PASSAGES_PER_PAGE
    best_of_pages = np.bincount(
        pages[is_best], weights=passage_bm25[is_best], minlength=page_count
    ).astype(float)
    scores = (
        _divided_by_maximum(page_bm25)[pages]
        + _divided_by_maximum(passage_bm25)
        + _divided_by_maximum(best_of_pages)[pages]
    ) / 3
    return np.where(passage_bm25 > 0, scores, 0.0), is_best


def places_in_groups(scores: Floats, groups: IntArray) -> IntArray:
    """Return the place of each score among those of its group, 0 for the highest, (scores,).

    >>> places_in_groups(np.array([1.0, 5.0, 2.0]), np.array([7, 3, 7])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((-scores, groups))
    grouped = groups[order]
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.searchsorted(grouped, grouped)
    return places


def highest_scores(scores: Floats, maximum: int) -> dict[int, float]:
    """Return the numbers of the passages with the highest scores above 0, best first.

    >>> highest_scores(np.array([0.0, 1.0, 3.0, 1.0]), 2)
    {2: 3.0, 1: 1.0}
    """
    passages = np.flatnonzero(scores > 0)
    best = passages[top_k(scores[passages], passages, maximum)]
    return {int(number): float(scores[number]) for number in best}


def _idf_of_columns(counts: Counts | Floats) -> Floats:
    frequencies = np.count_nonzero(counts, axis=0).tolist()
    return np.array([idf(len(counts), frequency) for frequency in frequencies])


def _bm25_of_rows(
    counts: Counts | Floats, lengths: Counts | Floats, weights: Floats, *parameters: float
) -> Floats:
    mean = max(float(lengths.mean()), 1.0)
    scores: Floats = saturation(counts, lengths[:, None], mean, *parameters) @ weights
    return scores


def _divided_by_maximum(scores: Floats) -> Floats:
    return scores / max(float(scores.max()), 1e-9)
