"""Words of passages: the scores of search --method bm25, and indexes that follow changes."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.asking.cache import IndexedFile, Segment, Segments, open_store
from structkit.asking.folder import WORD_SEGMENTS
from structkit.searching.bm25 import Postings, WordIndex, page_scores
from structkit.searching.lexical import LexicalIndex
from structkit.searching.options import WordOptions
from structkit.searching.words import folded_words
from structkit.structure.bags import Bags
from tests.tolerances import bound

TEXTS = st.lists(st.sampled_from("tea Milk readHTTP the max_size".split()), max_size=6).map(
    " ".join
)
FILES = st.dictionaries(st.sampled_from("abcd"), st.lists(TEXTS, min_size=1, max_size=3))


def index(folder, before=None):
    """The index of texts by path; its content decides whether a file is another one."""
    before = before or Segments(WORD_SEGMENTS)
    files = [IndexedFile(path, repr(texts), len(texts)) for path, texts in sorted(folder.items())]
    read = [file for file in files if file not in before.files]
    read = [*read[::2], *read[1::2]]  # in any order
    return before.update(files, segment(read, folder))


def words(folder):
    return WordIndex(index(folder).numbered)


def segment(read, folder):
    """The words of files, counted by two processes, each from nothing."""
    half = (len(read) + 1) // 2
    parts = (
        Bags.of(chain.from_iterable(folder[f.path] for f in some))
        for some in (read[:half], read[half:])
    )
    return Segment(read, Postings.join([*map(Postings.of_bags, parts)]))


def content(index):
    """What an index says of each word, in any order."""
    found = WordIndex(index.numbered)
    every = sorted({word for part, _ in found.parts for word in part.words})
    columns = {word: found._having(word) for word in every}
    said = {
        word: sorted(zip(*(column.tolist() for column in each), strict=True))
        for word, each in columns.items()
    }
    return index.files, found.lengths.tolist(), {word: each for word, each in said.items() if each}


@given(FILES.filter(lambda folder: any(map(folded_words, sum(folder.values(), [])))), TEXTS)
def test_scores_are_those_of_search(folder, question):
    texts = [text for _, each in sorted(folder.items()) for text in each]
    ids = [str(number) for number in range(len(texts))]
    hits = LexicalIndex.of(ids, texts, WordOptions()).search(question, len(ids))
    found = {hit.doc_id: hit.score for hit in hits}
    expected = [found.get(number, 0.0) for number in ids]
    scores = words(folder).scores(folded_words(question))
    near = bound(len(folded_words(question)) + 1, scores.max())  # those of search have 32 bits
    assert expected == pytest.approx(scores.tolist(), abs=near)


@given(st.lists(FILES, min_size=1, max_size=4))
def test_an_index_that_follows_changes_is_a_new_one(folders):
    followed = Segments(WORD_SEGMENTS)
    for folder in folders:
        followed = index(folder, followed)
    expected = content(index(folders[-1]))
    assert expected == content(followed)
    with open_store(None) as store:
        followed.write(store, Segments(WORD_SEGMENTS))
        assert expected == content(Segments.read(store, WORD_SEGMENTS))


def test_other_words_of_the_stem_are_related_as_one_word():
    texts = ["retries wait retried", "config", "retry", "retriever", "retried"]
    as_one = ["retries wait retries", "config", "retry", "retriever", "retries"]
    related = words({"a": texts}).related_scores(["retry", "confirm"])
    assert words({"a": as_one}).scores(["retries"]).tolist() == related.tolist()
    assert [True, False, False, False, True] == (related > 0).tolist()


def test_words_of_one_stem_are_counted_together():
    found = words({"a": ["retries wait retry", "config"], "b": ["retrying"]})
    expected = [[2, 0], [0, 1], [1, 0]]
    assert expected == found.counts_of(["retry", "config", "retries"]).tolist()
    assert (3, 0) == found.counts_of([]).shape


def test_three_passages_of_each_page_are_its_best():
    counts = np.array([[1], [3], [2], [4], [0], [9]], np.int32)
    pages = np.array([1, 1, 1, 1, 0, 2])
    scores, among = page_scores(counts, np.full(6, 9, np.int32), pages)
    assert [False, True, True, True, True, True] == among.tolist()
    assert 0 == scores[4] < scores[0] < scores[2] < scores[1] < scores[3] < 1


def test_a_file_that_is_read_again_counts_once():
    before = index({"a": ["tea"], "b": ["milk"]})
    after = before.update(before.files, segment(before.files[1:], {"b": ["milk"]}))
    assert content(before) == content(after)
