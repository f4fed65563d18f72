"""Texts as token ids: truncated and counted, in chunks, with CLS tokens in between.

Tests: tests/learning/test_static.py.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from structkit.errors import flag, wrong_usage
from structkit.processes import group_by_size

# characters that are tokenized together: their tokens take 100 times as many bytes
MAX_SLICE_CHARACTERS = 1 << 17

IdArray = NDArray[np.int64]


@dataclass(frozen=True)
class Chunk:
    """Part of a text as token ids; `start` and `end` are its characters in the text."""

    ids: Sequence[int]
    start: int
    end: int


class Truncation:
    """Counts of texts of each kind, and of those longer than allowed.

    While `field` is set, texts are counted for that field: `document title`.
    """

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.truncated: Counter[str] = Counter()
        self.field = ""

    def count(self, kind: str, texts: int, truncated: int = 0) -> None:
        """Add texts of a kind, and how many of them were longer."""
        name = f"{kind} {self.field}".rstrip()
        self.texts[name] += texts
        self.truncated[name] += truncated

    def state(self) -> dict[str, dict[str, int]]:
        return {"texts": dict(self.texts), "truncated": dict(self.truncated)}

    def drain(self) -> dict[str, Counter[str]]:
        """Take all that was counted, by the names of the counters, which are empty then."""
        counters = {
            name: counter for name, counter in vars(self).items() if isinstance(counter, Counter)
        }
        counted = {name: counter.copy() for name, counter in counters.items()}
        for counter in counters.values():
            counter.clear()
        return counted

    def merge(self, counted: Mapping[str, Mapping[str, int]]) -> None:
        """Add the counts of another process, or of an earlier one."""
        for name, counter in counted.items():
            getattr(self, name).update(counter)

    def messages(self, limit: str = "") -> list[str]:
        """Return one line for each kind of text, and field, with truncated texts.

        `limit` is the flag that makes room for more of a text, by default a training's.
        """
        lines = []
        for name, truncated in self.truncated.items():
            kind, _, field = name.partition(" ")
            texts = f'texts in the field "{field}"' if field else f"{kind} texts"
            if truncated:
                lines.append(
                    f"{truncated:,} of {self.texts[name]:,} {texts} were longer than "
                    f"{limit or flag(f'{kind}_length')} "
                    f"and were truncated ({truncated / self.texts[name]:.0%})"
                )
        return lines


class Tokenizing:
    """Tokenizer with the maximum tokens of each kind of text (query, document, target …).

    `prompts` holds the text before a text of a kind. With `mcls_every` there is a CLS token before
    each group of so many tokens. `opening` and `closing` are the special tokens around a text.
    `plain` is the tokenizer for texts without tags, to which `<p>` is ordinary text: for queries,
    and for documents while they are `untagged`. `positions` is the maximum tokens that the model
    can read, None without a limit. `from_end` cuts a long text at its beginning.
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
        from_end: bool = False,
    ) -> None:
        self.from_end = from_end
        self.tokenizer, self.plain = tokenizer, plain or tokenizer
        self.tokenizer.no_padding()
        self.plain.no_padding()
        self.untagged = False
        self.positions = positions
        self.padding = padding or 0  # it is masked: any token will do where there is none
        self.lengths = lengths
        self.training_lengths = lengths
        self.prompts = dict(prompts or {})
        self.mcls_every = mcls_every
        self.truncation = Truncation()
        self.opening, self.closing = special_tokens(tokenizer)

    def settings(self) -> dict[str, Any]:
        """Return what another tokenizer with the same tokens needs to read texts alike."""
        names = ("lengths", "prompts", "mcls_every", "positions", "padding", "from_end")
        return {name: getattr(self, name) for name in names}

    def read_field(self, name: str) -> None:
        """Say from which field the next documents are: whether they may have tags."""
        self.untagged = name.rpartition("_")[2] == "untagged"

    def read_at_most(self, kind: str, length: int | None) -> None:
        """Cut texts of a kind to `length` tokens, None: as in training.

        Errors: `UserError` if the model reads fewer.
        """
        if length and self.positions and length > self.positions:
            raise wrong_usage(
                f"{flag('length', length)} is more than the {self.positions} tokens "
                "that the model reads",
                f"use {flag('length', self.positions)}",
            )
        self.lengths = {**self.training_lengths, **({kind: length} if length else {})}

    def ids(self, texts: Sequence[str], kind: str) -> list[Sequence[int]]:
        """Return token ids without padding; longer texts are truncated and counted."""
        if prompt := self.prompts.get(kind):
            texts = [prompt + text for text in texts]
        if self.mcls_every:
            return self._with_cls_tokens(texts, kind)
        length = self.lengths[kind]
        beginnings = texts if self.from_end else [beginning(text, length) for text in texts]
        ids, is_cut = self.truncated_ids(beginnings, kind)
        for row, text in enumerate(texts):
            # a beginning that has too few tokens: the whole text is read
            if not is_cut[row] and len(beginnings[row]) < len(text):
                (ids[row],), (is_cut[row],) = self.truncated_ids([text], kind)
        self.truncation.count(kind, len(texts), sum(is_cut))
        return ids

    def encode_texts(
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
        special = not whole and bool(self.opening or self.closing)
        for slice_texts in group_by_size(texts, (len, MAX_SLICE_CHARACTERS)):
            yield from encode(slice_texts, add_special_tokens=special)

    def truncated_ids(
        self, texts: Sequence[str], kind: str
    ) -> tuple[list[Sequence[int]], list[bool]]:
        """Return token ids, cut to the kind's length, and whether they were cut."""
        ids: list[Sequence[int]] = []
        is_cut: list[bool] = []
        for encoding in self.encode_texts(texts, kind):
            ids.append(array("I", encoding.ids))
            is_cut.append(bool(encoding.overflowing))
        return ids, is_cut

    def _with_cls_tokens(self, texts: Sequence[str], kind: str) -> list[Sequence[int]]:
        assert self.mcls_every
        # as many groups of `every` tokens with a CLS token as fit, and a part of one more
        groups, remaining_tokens = divmod(
            self.lengths[kind] - len(self.closing), self.mcls_every + 1
        )
        longest = groups * self.mcls_every + max(0, remaining_tokens - 1)
        contents = [encoding.ids for encoding in self.encode_texts(texts, kind, whole=True)]
        truncated = sum(len(content) > longest for content in contents)
        self.truncation.count(kind, len(texts), truncated)
        return [self.with_special_tokens(content[:longest]) for content in contents]

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
        prompt_and_text = [self.prompts.get(kind, ""), text]
        encoded_prompt, encoded_text = self.encode_texts(
            prompt_and_text, kind, offsets=True, whole=True
        )
        prompt, ids, offsets = encoded_prompt.ids, encoded_text.ids, encoded_text.offsets
        longest = len(self.with_special_tokens([*prompt, *[0] * size]))
        if self.positions and longest > self.positions:
            fitting = max(1, size - (longest - self.positions))
            raise wrong_usage(
                f"{flag('chunk', size)} is {longest} tokens with special ones, but the model reads "
                f"{self.positions}",
                f"use {flag('chunk', fitting)}",
            )
        self.truncation.count(kind, 1)
        chunks = []
        for start in range(0, max(1, len(ids)), size):
            spans = offsets[start : start + size] or [(0, 0)]
            content = self.with_special_tokens(prompt + ids[start : start + size])
            chunks.append(Chunk(content, spans[0][0], spans[-1][1]))
        return chunks


def batches_of(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the places of inputs, longest first, whose padded size fits, at least one each.

    >>> list(batches_of([2, 5, 4, 2], 8))
    [[1], [2, 0], [3]]
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    start = 0
    while start < len(order):
        end = start + max(1, budget // max(1, lengths[order[start]]))
        yield order[start:end]
        start = end


def pad_ids(inputs: Sequence[Sequence[int]], padding: int) -> tuple[IdArray, IdArray]:
    """Return token ids and their mask, 1 on real tokens, (inputs, length) each.

    Padding is on the right, where causal attention never sees it.
    """
    lengths = np.array([len(row) for row in inputs])
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, padding)
    # an array of lists takes ten times as long, while other threads wait
    ids[mask] = np.fromiter(chain.from_iterable(inputs), ids.dtype, lengths.sum())
    return ids, mask.astype(ids.dtype)


def beginning(text: str, tokens: int) -> str:
    """Return the beginning of a long text, expected to hold `tokens` tokens.

    Tokens do not span white space, so that the text begins with the tokens of its beginning.

    >>> len(beginning("word " * 1000, 16)), beginning("a b", 16)
    (1004, 'a b')
    """
    max_characters = max(1000, 8 * tokens)
    if len(text) <= max_characters:
        return text
    for end in range(max_characters, len(text)):
        if text[end].isspace():
            return text[:end].rstrip()
    return text


def special_tokens(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the special tokens that a tokenizer puts before a text and after it."""
    tokenizer.no_truncation()
    encoded = tokenizer.encode("a")
    ids, special = encoded.ids, encoded.special_tokens_mask
    if 0 not in special:
        return ids, []
    after = special[::-1].index(0)  # tokens after the text
    return ids[: special.index(0)], ids[len(ids) - after :]
