"""Texts as token ids: truncated and counted, in chunks, with CLS tokens in between.

Tests: tests/learning/test_static.py.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Self

from tokenizers import Encoding, Tokenizer, models
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from structkit.embeddings.vectors import Floats
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record

SLICE = 1 << 17  # characters that are tokenized together: their tokens take 100 times as much


@dataclass(frozen=True)
class Chunk:
    """Part of a text as token ids; `start` and `end` are its characters in the text.

    The first `skipped` tokens belong to a prompt that does not count in the embedding.
    """

    ids: Sequence[int]
    start: int
    end: int
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.ids)


class Truncation:
    """Counts of texts of each kind, and of those longer than allowed.

    While `field` is set, texts are counted for that field: `document title`. `flag` is the one that
    makes room for more of a text; if empty, the training's.
    """

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.truncated: Counter[str] = Counter()
        self.field = self.flag = ""

    def count(self, kind: str, texts: int, truncated: int = 0) -> None:
        """Add texts of a kind, and how many of them were longer."""
        name = f"{kind} {self.field}".rstrip()
        self.texts[name] += texts
        self.truncated[name] += truncated

    def state(self) -> dict[str, dict[str, int]]:
        return {"texts": dict(self.texts), "truncated": dict(self.truncated)}

    def drain(self) -> dict[str, Counter[str]]:
        """Take all that was counted, by the names of the counters, which are empty then."""
        counters = {name: each for name, each in vars(self).items() if isinstance(each, Counter)}
        counted = {name: each.copy() for name, each in counters.items()}
        for each in counters.values():
            each.clear()
        return counted

    def merge(self, counted: dict[str, Counter[str]]) -> None:
        """Add the counts of another process."""
        for name, counter in counted.items():
            getattr(self, name).update(counter)

    def load(self, state: dict[str, dict[str, int]]) -> None:
        self.texts, self.truncated = Counter(state["texts"]), Counter(state["truncated"])

    def messages(self) -> list[str]:
        """Return one line for each kind of text, and field, with truncated texts."""
        lines = []
        for name, cut in self.truncated.items():
            kind, _, field = name.partition(" ")
            texts = f'texts in the field "{field}"' if field else f"{kind} texts"
            if cut:
                limit = self.flag or flag(f"{kind}_length")
                lines.append(
                    f"{cut:,} of {self.texts[name]:,} {texts} were longer than {limit} "
                    f"and were truncated ({cut / self.texts[name]:.0%})"
                )
        return lines


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


class Tokenizing:
    """Tokenizer with the maximum tokens of each kind of text (query, document, target …).

    `prompts` holds the text before a text of a kind. With `mcls_every` there is a CLS token before
    each group of so many tokens. `opening` and `closing` are the special tokens around a text.
    `plain` is the tokenizer for texts without tags, to which `<p>` is ordinary text: for queries,
    and for documents while they are `untagged`. `positions` is the maximum tokens that the model
    can read, None without a limit. With `bare` a text has no special tokens around it. With `ends`,
    the special tokens with which a text may end, prompts do not count in embeddings. `from_end`
    cuts a long text at its beginning.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        lengths: dict[str, int],
        prompts: Mapping[str, str] | None = None,
        mcls_every: int | None = None,
        *,
        plain: Tokenizer | None = None,
        positions: int | None = None,
        padding: int | None = None,
        bare: bool = False,
        ends: Sequence[int] | None = None,
        from_end: bool = False,
    ) -> None:
        self.ends, self.from_end = ends, from_end
        self.tokenizer, self.plain, self.bare = tokenizer, plain or tokenizer, bare
        for each in (self.tokenizer, self.plain):
            each.no_padding()
        self.untagged = False
        self.positions = positions
        self.padding = padding or 0  # it is masked: any token will do where there is none
        self.lengths = self.trained = lengths
        self.prompts = dict(prompts or {})
        self.mcls_every = mcls_every
        self.truncation = Truncation()
        self.opening, self.closing = ([], []) if bare else specials(tokenizer)
        self.words = BertWords.of(tokenizer) if bare else None

    def settings(self) -> dict[str, Any]:
        """Return what another tokenizer with the same tokens needs to read texts alike."""
        names = ("lengths", "prompts", "mcls_every", "positions", "padding", "ends", "from_end")
        return {name: getattr(self, name) for name in names}

    def read_field(self, name: str) -> None:
        """Say from which field the next documents are: whether they may have tags."""
        self.untagged = name.rpartition("_")[2] == "untagged"

    def read_at_most(self, kind: str, length: int | None) -> None:
        """Cut texts of a kind to `length` tokens, None: as in training.

        Errors: `UserError` if the model reads fewer.
        """
        if length and self.positions and length > self.positions:
            raise UserError(
                f"{flag('length', length)} is more than the {self.positions} tokens "
                "that the model reads",
                f"use {flag('length', self.positions)}",
                status=2,
            )
        self.lengths = {**self.trained, **({kind: length} if length else {})}

    def inputs(self, texts: Sequence[str], kind: str) -> list[Sequence[int] | Chunk]:
        """Return texts as token ids, in chunks if their prompt does not count."""
        ids, skipped = self.ids(texts, kind), self.skipped(kind)
        if not skipped:
            return [*ids]
        return [Chunk(each, 0, len(text), skipped) for each, text in zip(ids, texts, strict=True)]

    def skipped(self, kind: str) -> int:
        """Return the number of tokens of a prompt that does not count in the embedding.

        They are the tokens of the prompt alone without a special token at its end, as
        sentence-transformers counts them.
        """
        prompt = self.prompts.get(kind)
        if self.ends is None or not prompt or self.mcls_every:
            return 0
        ((ids,), _) = self._cut([prompt], kind)
        return len(ids) - (len(ids) > 0 and ids[-1] in self.ends)

    def ids(self, texts: Sequence[str], kind: str) -> list[Sequence[int]]:
        """Return token ids without padding; longer texts are truncated and counted."""
        if prompt := self.prompts.get(kind):
            texts = [prompt + text for text in texts]
        if self.mcls_every:
            return self._with_cls_tokens(texts, kind)
        length = self.lengths[kind]
        shorter = texts if self.from_end else [beginning(text, length) for text in texts]
        ids, cut = self._cut(shorter, kind)
        # where a beginning turns out to have too few tokens, the whole text is read
        again = [
            place
            for place, text in enumerate(texts)
            if not cut[place] and len(shorter[place]) < len(text)
        ]
        if again:
            longer, whole = self._cut([texts[place] for place in again], kind)
            for place, each, more in zip(again, longer, whole, strict=True):
                ids[place], cut[place] = each, more
        self.truncation.count(kind, len(texts), sum(cut))
        return ids

    def read(
        self, texts: Sequence[str], kind: str, *, offsets: bool = False, whole: bool = False
    ) -> Iterator[Encoding]:
        """Yield the tokens of texts, cut to the kind's length; of `whole` bare."""
        tokenizer = self.plain if kind == "query" or self.untagged else self.tokenizer
        if whole:
            tokenizer.no_truncation()
        else:
            side = "left" if self.from_end else "right"
            tokenizer.enable_truncation(self.lengths[kind], direction=side)
        encode = tokenizer.encode_batch if offsets else tokenizer.encode_batch_fast
        for some in _slices(texts):
            yield from encode(some, add_special_tokens=not (whole or self.bare))

    def _cut(self, texts: Sequence[str], kind: str) -> tuple[list[Sequence[int]], list[bool]]:
        """Return token ids, cut to the kind's length, and whether they were cut."""
        ids, cut = list[Sequence[int]](), list[bool]()
        if self.words is not None:
            length = self.lengths[kind]
            for every in map(self.words.ids, texts):
                ids.append(every[:length])
                cut.append(len(every) > length)
            return ids, cut
        for encoding in self.read(texts, kind):
            ids.append(array("I", encoding.ids))
            cut.append(bool(encoding.overflowing))
        return ids, cut

    def _with_cls_tokens(self, texts: Sequence[str], kind: str) -> list[Sequence[int]]:
        assert self.mcls_every
        # as many groups of `every` tokens with a CLS token as fit, and a part of one more
        groups, rest = divmod(self.lengths[kind] - len(self.closing), self.mcls_every + 1)
        most = groups * self.mcls_every + max(0, rest - 1)
        contents = [each.ids for each in self.read(texts, kind, whole=True)]
        cut = sum(len(content) > most for content in contents)
        self.truncation.count(kind, len(texts), cut)
        return [self.with_special_tokens(content[:most]) for content in contents]

    def with_special_tokens(self, content: Sequence[int]) -> list[int]:
        """Return token ids with a text's special tokens, and CLS tokens between for mcls."""
        if not self.mcls_every:
            return [*self.opening, *content, *self.closing]
        ids: list[int] = []
        for start in range(0, max(1, len(content)), self.mcls_every):
            ids += [*self.opening, *content[start : start + self.mcls_every]]
        return ids + self.closing

    def chunks(self, text: str, kind: str, size: int) -> list[Chunk]:
        """Return consecutive chunks of at most `size` tokens, each after the prompt.

        A text without tokens is one chunk. Errors: `UserError` if the model cannot read so many.
        """
        both = [self.prompts.get(kind, ""), text]
        before, encoded = self.read(both, kind, offsets=True, whole=True)
        prompt, ids, offsets = before.ids, encoded.ids, encoded.offsets
        longest = len(self.with_special_tokens([*prompt, *[0] * size]))
        if self.positions and longest > self.positions:
            most = max(1, size - (longest - self.positions))
            raise UserError(
                f"{flag('chunk', size)} is {longest} tokens with special ones, but the model reads "
                f"{self.positions}",
                f"use {flag('chunk', most)}",
                status=2,
            )
        self.truncation.count(kind, 1)
        skipped = 0 if self.ends is None or not prompt else len(self.opening) + len(prompt)
        found = []
        for start in range(0, max(1, len(ids)), size):
            places = offsets[start : start + size] or [(0, 0)]
            content = self.with_special_tokens(prompt + ids[start : start + size])
            found.append(Chunk(content, places[0][0], places[-1][1], skipped))
        return found


def beginning(text: str, tokens: int) -> str:
    """Return the beginning of a long text, expected to hold `tokens` tokens.

    Tokens do not span white space, so that the text begins with the tokens of its beginning.

    >>> len(beginning("word " * 1000, 16)), beginning("a b", 16)
    (1004, 'a b')
    """
    most = max(1000, 8 * tokens)
    if len(text) <= most:
        return text
    for place in range(most, len(text)):
        if text[place].isspace():
            return text[:place].rstrip()
    return text


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts of about `SLICE` characters at a time."""
    some, characters = list[str](), 0
    for text in texts:
        some.append(text)
        characters += len(text)
        if characters >= SLICE:
            yield some
            some, characters = [], 0
    if some:
        yield some


def specials(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the special tokens that a tokenizer puts before a text and after it."""
    tokenizer.no_truncation()
    encoded = tokenizer.encode("a")
    ids, special = encoded.ids, encoded.special_tokens_mask
    first = special.index(0) if 0 in special else len(ids)
    last = len(ids) - special[::-1].index(0) if 0 in special else len(ids)
    return ids[:first], ids[last:]


class Model(ABC):
    """Trained model: its reading of texts, for the engine that computes their embeddings.

    A model that torch computes extends `TorchModel` (structkit.learning.training.devices).
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """Parts of a text that also have embeddings: `chunk`, `nodes`."""

    truncation: Truncation
    """Counts of the texts read, and of those cut or with unknown words."""

    @abstractmethod
    def inputs(self, texts: Sequence[str], side: str) -> Sequence[Sized]:
        """Return texts as it reads them; `len()` of one is its cost."""

    def read_field(self, name: str) -> None:
        """Say from which field the next texts are: in some, tags are text."""
        return None

    def prepared(self, text: str) -> Record:
        """Return the data that `nodes` needs of a text. Errors: a text that it cannot read."""
        return {}

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """Return a text as inputs of `size` tokens each, for models with the part `chunk`."""
        raise NotImplementedError

    def read_at_most(self, side: str, length: int | None) -> None:
        """Read at most `length` tokens of texts of a side, None: as many as in training."""
        return None

    def nodes(
        self,
        records: Sequence[Record],
        which: str,
        batch_tokens: int,
        *,
        finish: Callable[[Floats], Floats],
    ) -> Iterator[list[Record]]:
        """Yield the nodes of each prepared text, with their embeddings, for models with `nodes`.

        A node is `{node, span, text, embedding}`; `which` is words, phrases or all; `finish` is
        applied to embeddings (nodes, dim) last.
        """
        raise NotImplementedError


class TokenModel(Model):
    """A model that reads texts as `tokenizing` does."""

    parts = ("chunk",)
    tokenizing: Tokenizing

    def inputs(self, texts: Sequence[str], side: str) -> list[Sequence[int] | Chunk]:
        return self.tokenizing.inputs(texts, side)

    def read_field(self, name: str) -> None:
        self.tokenizing.read_field(name)

    def read_at_most(self, side: str, length: int | None) -> None:
        self.tokenizing.read_at_most(side, length)

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        return self.tokenizing.chunks(text, side, size)
