"""Words of passages: the scores of search --method bm25, and indexes that follow changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.asking.postings import K1, B, IndexedFile, Postings
from structkit.searching.bm25 import BM25
from structkit.searching.words import words
from tests.tolerances import bound

TEXTS = st.lists(st.sampled_from("tea Milk readHTTP the max_size".split()), max_size=6).map(
    " ".join
)
FILES = st.dictionaries(st.sampled_from("abcd"), st.lists(TEXTS, min_size=1, max_size=3))


def index(folder, before=None):
    """The index of texts by path; what is in it tells whether a file is another one."""
    files = [IndexedFile(path, repr(texts), len(texts)) for path, texts in sorted(folder.items())]
    return (before or Postings.empty()).updated(files, lambda path: folder[path])


def content(postings):
    """What an index says of each word, in any order."""
    places = [slice(*pair) for pair in zip(postings.starts, postings.starts[1:], strict=False)]
    columns = (postings.passages, postings.counts)
    said = {
        word: [tuple(column[place].tolist()) for column in columns]
        for word, place in zip(postings.words, places, strict=True)
    }
    return postings.files, postings.lengths.tolist(), said


@given(FILES.filter(lambda folder: any(map(words, sum(folder.values(), [])))), TEXTS)
def test_scores_are_those_of_bm25(folder, question):
    texts = [text for _, each in sorted(folder.items()) for text in each]
    ids = [str(number) for number in range(len(texts))]
    asked = list(dict.fromkeys(words(question)))
    found = dict(BM25(ids, texts, k1=K1, b=B).search(" ".join(asked), len(ids)))
    expected = [found.get(number, 0.0) for number in ids]
    # words that have parts are asked for with these, by both
    every = [part for word in asked for part in words(word)]
    scores = sum((index(folder).scores([word]) for word in every), np.zeros(len(texts)))
    near = bound(len(every) + 1, scores.max())  # the library's have 32 bits
    assert expected == pytest.approx(scores.tolist(), abs=near)


@given(st.lists(FILES, min_size=1, max_size=4))
def test_an_index_that_follows_changes_is_a_new_one(folders):
    followed = Postings.empty()
    for folder in folders:
        followed = index(folder, followed)
    assert content(index(folders[-1])) == content(followed)


@given(FILES)
def test_what_is_kept_is_what_was_there(folder):
    postings = index(folder)
    assert content(postings) == content(Postings.of(postings.data()))


def test_another_word_of_the_stem_is_related():
    postings = index({"a": ["retries wait", "config", "retry", "retriever"]})
    alone = {word: postings.scores([word]) for word in postings.words}
    expected = np.maximum(alone["retries"], 0)
    assert expected.tolist() == postings.related(["retry", "configure"]).tolist()
    assert (alone["retry"] > 0).tolist() == [False, False, True, False]


def test_only_new_files_are_read():
    folder = {"a": ["tea"], "b": ["milk"]}
    postings = index(folder)
    read = []
    files = [IndexedFile("a", repr(["tea"]), 1), IndexedFile("b", "other", 1)]
    postings.updated(files, lambda path: read.append(path) or ["water"])
    assert ["b"] == read


def test_words_that_went_are_forgotten():
    assert ["milk"] == index({"a": ["milk"]}, index({"a": ["tea"]})).words
