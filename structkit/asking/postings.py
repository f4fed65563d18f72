"""The words of passages, for BM25 whose statistics follow each change of a file.

The scores are those of `search --method bm25` (structkit.searching.bm25) over the same texts: there
they are computed once for a fixed corpus, here for the words of a question.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from structkit.embeddings.vectors import Floats, Numbers
from structkit.searching.options import K1, B
from structkit.searching.words import SHORTEST, Vocabulary, same_stem

Counts = NDArray[np.int32]

NAMES = ("files", "words", "lengths", "starts", "passages", "counts")


class IndexedFile(NamedTuple):
    """A file with passages in an index."""

    path: str
    hash: str
    passages: int


@dataclass(frozen=True)
class Postings:
    """How often each word is in each passage: word by word, passages in the order of the files.

    The postings of the n-th word are `passages[starts[n] : starts[n + 1]]` and their `counts`.
    """

    files: list[IndexedFile]
    words: list[str]
    lengths: Counts  # (passages,), words of each
    starts: Numbers  # (words + 1,)
    passages: Counts  # (postings,)
    counts: Counts  # (postings,)

    @classmethod
    def empty(cls) -> Self:
        """An empty index."""
        none = np.empty(0, np.int32)
        return cls([], [], none, np.zeros(1, np.int64), none, none)

    @classmethod
    def of(cls, data: Mapping[str, bytes]) -> Self:
        """The index in what `data` returned."""
        return cls(
            [IndexedFile(*each) for each in orjson.loads(data["files"])],
            orjson.loads(data["words"]),
            np.frombuffer(data["lengths"], np.int32),
            np.frombuffer(data["starts"], np.int64),
            np.frombuffer(data["passages"], np.int32),
            np.frombuffer(data["counts"], np.int32),
        )

    def data(self) -> dict[str, bytes]:
        """The index as it is kept, by name."""
        arrays = (self.lengths, self.starts, self.passages, self.counts)
        lists = (orjson.dumps(list(map(list, self.files))), orjson.dumps(self.words))
        return dict(zip(NAMES, (*lists, *(each.tobytes() for each in arrays)), strict=True))

    def updated(
        self, files: Sequence[IndexedFile], texts: Callable[[str], Iterable[str]]
    ) -> Postings:
        """The index of these files, of which only new ones are read."""
        moved = moves(self.files, files)
        known = {(each.path, each.hash) for each in self.files}
        starts = [0, *accumulate(each.passages for each in files)]
        reader = _Read(self.words)
        lengths = np.zeros(starts[-1], np.int32)
        lengths[moved[moved >= 0]] = self.lengths[moved >= 0]
        for file, first in zip(files, starts, strict=False):
            if (file.path, file.hash) not in known:
                for passage, text in enumerate(texts(file.path), first):
                    lengths[passage] = reader.add(passage, text)
        kept = moved[self.passages] >= 0
        word = np.repeat(np.arange(len(self.words)), np.diff(self.starts))[kept]
        new_words, new_passages, new_counts = reader.postings(starts[-1])
        return _sorted(
            list(files),
            list(reader.vocabulary.number),
            lengths,
            np.concatenate((word, new_words)),
            np.concatenate((moved[self.passages[kept]], new_passages)),
            np.concatenate((self.counts[kept].astype(np.int64), new_counts)),
        )

    def scores(self, asked: Iterable[str]) -> Floats:
        """BM25 of each passage, (passages,), as Lucene computes it."""
        total = np.zeros(len(self.lengths))
        number = {word: place for place, word in enumerate(self.words)}
        for place in (number[word] for word in asked if word in number):
            passages, scores = self._of_word(place)
            total[passages] += scores
        return total

    def related(self, asked: Iterable[str]) -> Floats:
        """BM25 by the best other word with the same stem as each word asked, (passages,)."""
        total = np.zeros(len(self.lengths))
        stems = {word: word[:SHORTEST] for word in asked}
        beginning = set(stems.values())
        places = [n for n, word in enumerate(self.words) if word[:SHORTEST] in beginning]
        for word in stems:
            best = np.zeros(len(total))
            for place in places:
                if self.words[place] != word and same_stem(word, self.words[place]):
                    passages, scores = self._of_word(place)
                    best[passages] = np.maximum(best[passages], scores)
            total += best
        return total

    def _of_word(self, place: int) -> tuple[Counts, Floats]:
        """The passages with a word, and its BM25 in each."""
        here = slice(self.starts[place], self.starts[place + 1])
        passages, counts = self.passages[here], self.counts[here]
        without = len(self.lengths) - len(passages)
        rarity = np.log(1 + (without + 0.5) / (len(passages) + 0.5))
        lengths = self.lengths[passages] / self.lengths.mean()
        return passages, rarity * counts / (counts + K1 * (1 - B + B * lengths))


def moves(before: Sequence[IndexedFile], after: Sequence[IndexedFile]) -> Numbers:
    """The new number of each earlier passage, (passages,); -1 for a removed one.

    >>> one, other = IndexedFile("a", "1", 2), IndexedFile("b", "2", 1)
    >>> moves([one, other], [IndexedFile("a", "9", 3), other]).tolist()
    [-1, -1, 3]
    """
    starts = accumulate((each.passages for each in after), initial=0)
    first = {(each.path, each.hash): start for each, start in zip(after, starts, strict=False)}
    moved = [np.empty(0, np.int64)]
    for path, content, passages in before:
        start = first.get((path, content))
        moved.append(np.full(passages, -1) if start is None else start + np.arange(passages))
    return np.concatenate(moved)


def _sorted(
    files: list[IndexedFile],
    names: list[str],
    lengths: Counts,
    word: Numbers,
    passage: Numbers,
    counts: Numbers,
) -> Postings:
    """The index of postings given in any order, without words that no passage has any more."""
    order = np.lexsort((passage, word))
    word, passage, counts = word[order], passage[order], counts[order]
    sizes = np.bincount(word, minlength=len(names))
    used = np.flatnonzero(sizes)
    starts = np.concatenate(([0], np.cumsum(sizes[used]))).astype(np.int64)
    kept = [names[place] for place in used]
    return Postings(files, kept, lengths, starts, passage.astype(np.int32), counts.astype(np.int32))


class _Read:
    """The words of passages that were read, one after the other."""

    def __init__(self, known: Sequence[str]) -> None:
        self.vocabulary = Vocabulary(known)
        self.word, self.passage = array("q"), array("q")

    def add(self, passage: int, text: str) -> int:
        """Read the text of a passage; returns how many words it has."""
        numbers = self.vocabulary.numbers(text)
        self.word.extend(numbers)
        self.passage.extend([passage] * len(numbers))
        return len(numbers)

    def postings(self, passages: int) -> tuple[Numbers, Numbers, Numbers]:
        """Word, passage and count, of all that was read."""
        word, passage = np.array(self.word, np.int64), np.array(self.passage, np.int64)
        pairs, counts = np.unique(word * max(passages, 1) + passage, return_counts=True)
        return pairs // max(passages, 1), pairs % max(passages, 1), counts
