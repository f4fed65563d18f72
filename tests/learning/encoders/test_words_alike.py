"""A tokenizer from scratch to which a word is the same tokens wherever it stands."""

import pytest

from structkit.learning.encoders.tokenizer import train_tokenizer

TEXTS = ["def retry(attempts): self.retry(2)", "how is a retry done", "utf8 and 2d"] * 9


@pytest.mark.parametrize("before", ["(", ".", " ", "2", "self.", "_", "x\n"])
def test_a_word_has_its_tokens_after_anything(before):
    tokenizer = train_tokenizer(TEXTS, 500, words_alike=True)
    word = tokenizer("retry", add_special_tokens=False)["input_ids"]
    found = tokenizer(f"{before}retry", add_special_tokens=False)["input_ids"]
    assert word == found[-len(word) :]
    assert len(word) < len("retry")


def test_by_default_it_has_them_after_spaces_alone():
    tokenizer = train_tokenizer(TEXTS, 500)
    word, found = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("retry", ".retry")
    )
    assert word != found[-len(word) :]
