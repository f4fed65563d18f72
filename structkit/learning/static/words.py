"""Frequent words that become one token each of a tokenizer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tokenizers import Tokenizer

from structkit.errors import UserError


@dataclass
class Frequencies:
    """How often words occur in texts, as a tokenizer splits them."""

    tokenizer: Tokenizer
    texts: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def count(self, texts: Iterable[str]) -> Frequencies:
        """Add some texts."""
        for text in texts:
            self.texts += 1
            self.words.update(split(self.tokenizer, text))
        return self

    def common(self, least: int, most: int) -> list[str]:
        """At most `most` words that occur `least` times and are not tokens yet, by frequency."""
        known = self.tokenizer.get_vocab()
        common = [
            (-count, word)
            for word, count in self.words.items()
            if count >= least and word not in known and any(map(str.isalpha, word))
        ]
        return [word for _, word in sorted(common)[:most]]


def split(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a text before they are split into tokens, as normalized by the tokenizer."""
    if tokenizer.normalizer is not None:
        text = tokenizer.normalizer.normalize_str(text)
    if tokenizer.pre_tokenizer is None:
        return text.split()
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer without special tokens, padding and truncation."""
    content = json.loads(tokenizer.to_str())
    content |= {"post_processor": None, "padding": None, "truncation": None}
    return Tokenizer.from_str(json.dumps(content))


def with_words(tokenizer: Tokenizer, words: Sequence[str]) -> Tokenizer:
    """The same tokenizer, to which these words, as it normalizes them, are one token each.

    Their ids follow the existing ones. Errors: a kind of tokenizer that cannot learn words.
    """
    content = json.loads(tokenizer.to_str())
    model, first = content["model"], tokenizer.get_vocab_size()
    if model["type"] == "Unigram":
        if len(model["vocab"]) != first:
            raise UserError(
                "the tokens of the model's tokenizer are not numbered one after the other",
                "train without records: the model's own vocabulary is used",
            )
        model["vocab"] += [[word, 0.0] for word in words]  # more likely than any split
    elif model["type"] in ("WordPiece", "WordLevel", "BPE"):
        model["vocab"] |= {word: first + number for number, word in enumerate(words)}
        if model["type"] == "BPE":
            model["ignore_merges"] = True  # a word that is a token needs no merges
        if model["type"] == "WordPiece":
            longest = max(map(len, words), default=0)
            model["max_input_chars_per_word"] = max(model["max_input_chars_per_word"], longest)
    else:
        raise UserError(
            f"a {model['type']} tokenizer learns no words",
            "train without records: the model's own vocabulary is used",
        )
    return Tokenizer.from_str(json.dumps(content))
