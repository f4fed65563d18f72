"""Bags of pieces: what is found of each piece is what a whole text has."""

import string
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structkit.searching.words import document_words
from structkit.structure.bags import Bags, pieces

# accents, signs that NFC joins with the one before, scripts without spaces, white space
SIGNS = "aZ9_-.=<\n\t\x1c\x85\u00a0\u2028\u3000\u200b\u0301\u0338\u212aéǅß中機か\u3099한“”ﬁ½\udc80"
TEXTS = st.text(st.sampled_from(SIGNS)) | st.text()


@given(TEXTS)
def test_the_words_of_a_text_are_those_of_its_pieces(text):
    found = (word for piece in pieces(text) for word in document_words(piece))
    assert Counter(document_words(text)) == Counter(found)


def test_every_sign_of_ascii_is_a_piece_but_the_underscore():
    signs = [each for each in string.punctuation if each != "_"]
    assert ["a_b", *signs] == pieces(f"a_b{string.punctuation.replace('_', '')}")
    assert [] == pieces("".join(map(chr, range(33))) + "\x7f")


def test_parts_of_pieces_have_the_counts_of_these():
    bags = Bags.of(["b a b", "", "a c"])
    bags.add("c", to=1)
    parts = {"a": [7], "b": [], "c": [8, 9]}
    texts, found, counts = bags.spread(parts[piece] for piece in bags.number)
    expected = [(0, 7, 1), (2, 7, 1), (2, 8, 1), (2, 9, 1), (1, 8, 1), (1, 9, 1)]
    assert expected == list(zip(*(each.tolist() for each in (texts, found, counts)), strict=True))


def test_bags_of_two_processes_are_as_one():
    texts = ["max size", "", "size of max", "of"]
    whole, both = Bags.of(texts), Bags()
    for some in (texts[:2], texts[2:]):
        other = Bags.of(some)
        both.extend([*other.number], other.size, other.columns)
    assert (whole.number, whole.size) == (both.number, both.size)
    for one, other in zip(whole.columns, both.columns, strict=True):
        np.testing.assert_array_equal(one, other)
