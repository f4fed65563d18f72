"""Bags of pieces: what is found of each piece is what a whole text has."""

import string
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from structkit.searching.words import document_words
from structkit.structure.bags import Bags, pieces

# accents, signs that NFC joins with the one before, scripts without spaces, white space
SIGNS = "aZ9_-.=<\n\t\x1c\x85\u00a0\u2028\u3000\u200b\u0301\u0338\u212aéǅß中機か\u3099한“”ﬁ½\udc80"
TEXTS = st.text(st.sampled_from(SIGNS)) | st.text()


@given(TEXTS)
def test_the_words_of_a_text_are_those_of_its_pieces(text):
    found = (word for piece in pieces([text])[0] for word in document_words(piece))
    assert Counter(document_words(text)) == Counter(found)


def test_every_sign_of_ascii_is_a_piece_but_the_underscore():
    signs = [each for each in string.punctuation if each != "_"]
    assert [["a_b", *signs]] == pieces([f"a_b{string.punctuation.replace('_', '')}"])
    assert [[]] == pieces(["".join(map(chr, range(33))) + "\x7f"])


@given(st.lists(TEXTS))
def test_texts_together_are_counted_as_one_by_one(texts):
    bags, apart = Bags.of(texts), Bags()
    for text in texts:
        apart.add([text])
    assert apart.columns == bags.columns
    assert (apart.size, [*apart.number]) == (bags.size, [*bags.number])
