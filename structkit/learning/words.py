"""Tokens of words, remembered: how a table of token vectors reads long corpora fast.

Tests: tests/learning/test_static.py.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Self

from tokenizers import Tokenizer, models
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer


class WordPieces:
    """The pieces of ASCII words as `tokenizers` finds them: each the longest from the left.

    Its tokenizer takes three times as long for a single word: it is made for texts.
    """

    def __init__(self, vocabulary: dict[str, int], model: models.WordPiece) -> None:
        self.vocabulary, self.inner = vocabulary, model.continuing_subword_prefix
        self.longest = max(map(len, vocabulary))
        self.maximum, self.unknown = model.max_input_chars_per_word, (vocabulary[model.unk_token],)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self | None:
        """Return the pieces of a tokenizer that has such; None for another."""
        model, vocabulary = tokenizer.model, tokenizer.get_vocab(with_added_tokens=False)
        known = isinstance(model, models.WordPiece) and model.unk_token in vocabulary
        return cls(vocabulary, model) if known else None

    def __call__(self, word: str) -> tuple[int, ...]:
        """Return the tokens of a word."""
        ids, start, prefix = list[int](), 0, ""
        while start < len(word) <= self.maximum:
            for end in range(min(len(word), start + self.longest), start, -1):
                if (number := self.vocabulary.get(prefix + word[start:end])) is not None:
                    break
            else:
                return self.unknown
            ids.append(number)
            start, prefix = end, self.inner
        return tuple(ids) or self.unknown


class BertWords(dict[str, tuple[int, ...]]):
    """Tokens of words that occurred before, as BERT's tokenizer splits them.

    Source code repeats the same words, so that few texts need the tokenizer: this takes a quarter
    of its time.
    """

    # BERT's words: runs of letters and digits, and each other character; all beyond ASCII are
    # letters here, and the tokenizer cuts words that have it
    ASCII = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
    ANY = re.compile(r"[^\x00-/:-@\[-`{-\x7f\s]+|[!-/:-@\[-`{-~]")
    # the tokenizer removes these and joins their neighbors into one word
    CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f\x85]")
    MAXIMUM = 1 << 20  # words that are kept

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.lowercase: bool = tokenizer.normalizer.lowercase
        self.added = [each.content for each in tokenizer.get_added_tokens_decoder().values()]

    @cached_property
    def wordpiece(self) -> WordPieces | None:
        """The pieces of many words: a question's few take less time than its vocabulary."""
        return WordPieces.of(self.tokenizer)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self | None:
        """Return the words of a tokenizer that splits texts as BERT's does; None for another."""
        cleans, cuts = tokenizer.normalizer, tokenizer.pre_tokenizer
        clean = isinstance(cleans, BertNormalizer) and cleans.clean_text
        return cls(tokenizer) if clean and isinstance(cuts, BertPreTokenizer) else None

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= self.MAXIMUM:
            self.clear()
        self[word] = ids = tuple(self.tokenizer.encode(word, add_special_tokens=False).ids)
        return ids

    def of_pieces(self, pieces: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the tokens of each piece (`structure.bags`)."""
        if len(self) >= self.MAXIMUM:
            self.clear()
        return [self[each] if each in self else self._of_piece(each) for each in pieces]

    def _of_piece(self, piece: str) -> tuple[int, ...]:
        if self.wordpiece is None or not piece.isascii():
            return self[piece]
        lower = piece.lower() if self.lowercase else piece
        parts = lower.replace("_", " _ ").split() if "_" in piece else [lower]
        for part in parts:
            if part not in self:
                self[part] = self.wordpiece(part)
        self[piece] = ids = tuple(chain.from_iterable(map(self.__getitem__, parts)))
        return ids

    def is_special(self, text: str) -> bool:
        """Return whether the tokens of a text are not those of its pieces and signs."""
        return bool(self.CONTROL.search(text)) or any(each in text for each in self.added)

    def ids(self, text: str) -> array[int]:
        """Return the tokens of a text."""
        if self.is_special(text):
            return array("I", self.tokenizer.encode(text, add_special_tokens=False).ids)
        ascii = text.isascii()  # lower case is the same in all libraries
        text = text.lower() if ascii and self.lowercase else text
        words = (self.ASCII if ascii else self.ANY).findall(text)
        return array("I", chain.from_iterable(map(self.__getitem__, words)))
