"""A tokenizer trained on the records themselves, for models from scratch."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from structkit.errors import UserError
from structkit.structure.sentinels import SENTINELS

# ids 0, 1, 2 as in T5; none is a tag of HTML, as T5's own </s> would be
PAD, EOS, UNKNOWN = "<|pad|>", "<|eos|>", "<|unk|>"
CLS, MASK = "<|cls|>", "<|mask|>"
NEVER = "\uf8ff\ufdd0"  # in no text: a private-use code point and a noncharacter


def train_tokenizer(
    texts: Iterable[str],
    size: int,
    *,
    words_alike: bool = False,
    cls: bool = False,
    whole: Sequence[str] = (),
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of at most `size` tokens, to which no text is unknown.

    Runs of whitespace become one space, as in T5's own tokenizer. Words are
    lowercased; `fooBar`, `HTTPServer` and `foo_bar` are cut into words. Sentinels are kept, and
    the strings of `whole` (structure tags) are one token each. `cls` starts every text with a
    CLS token. A special token's name in a text is ordinary text. With `words_alike` a word is the
    same tokens after punctuation or a digit as after a space: `.retry(` has the token of `retry`.
    """
    kept = [*SENTINELS, *dict.fromkeys(whole)]
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = _normalizer(words_alike)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=max(size - len(kept), len(alphabet) + 5),
        special_tokens=[PAD, EOS, UNKNOWN, CLS, MASK],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_without(kept, texts), trainer)
    tokenizer.add_tokens(
        # not special tokens: a text's special tokens are read as text, but these are not.
        # The space before a sentinel belongs to it, or each would cost a token of its own
        [AddedToken(name, special=False, normalized=False, lstrip=True) for name in kept]
    )
    first = f"{CLS} " if cls else ""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first}$A {EOS}",
        pair=f"{first}$A {EOS} $B {EOS}",
        special_tokens=[(EOS, 1), (CLS, 3)],
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        sep_token=EOS,
        unk_token=UNKNOWN,
        cls_token=CLS,
        mask_token=MASK,
        split_special_tokens=True,
    )


def _normalizer(words_alike: bool) -> normalizers.Normalizer:
    steps = [
        normalizers.Replace(Regex("(?<=[a-z0-9])(?=[A-Z])"), " "),
        normalizers.Replace(Regex("(?<=[A-Z])(?=[A-Z][a-z])"), " "),
        normalizers.Replace("_", " "),
        normalizers.Lowercase(),
    ]
    # a word begins with a space, also after what is no word, and after digits
    between = normalizers.Replace(
        Regex(r"(?<=[^\w\s])(?=\w)|(?<=\d)(?=[^\W\d])|(?<=[^\W\d])(?=\d)"), " "
    )
    last = [
        # a word at the start is the same token as elsewhere, also after a sentinel
        normalizers.Prepend(" "),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Replace(Regex(r"\A (?=[^\w\s])"), ""),
    ]
    return normalizers.Sequence([*steps, *([between] if words_alike else ()), *last])


def _without(names: Sequence[str], texts: Iterable[str]) -> Iterable[str]:
    """The texts without these names, so that no merges are learned from their letters."""
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return (pattern.sub(" ", text) for text in texts)


def end_with_eos(tokenizer: Any) -> None:
    """Make a tokenizer end every text with its EOS token, unless it ends with a special one.

    Last-token pooling of a decoder-only model needs this. It is saved with the tokenizer. Errors:
    `UserError` where there is no EOS token.
    """
    if tokenizer("a")["input_ids"][-1] in tokenizer.all_special_ids:
        return
    name, number = tokenizer.eos_token, tokenizer.eos_token_id
    if number is None:
        raise UserError("the model has no EOS token", "use --pooling mean")
    backend = tokenizer.backend_tokenizer
    closing = processors.TemplateProcessing(
        single=["$A", name], pair=["$A", name, "$B", name], special_tokens=[(name, number)]
    )
    before = backend.post_processor
    backend.post_processor = processors.Sequence([before, closing]) if before else closing


def without_tokens(tokenizer: Any, names: Sequence[str]) -> Any:
    """A tokenizer that reads these tokens in a text as plain text; itself if it has none."""
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    named = [token for token in content["added_tokens"] if token["content"] in names]
    if not named:
        return tokenizer
    for token in named:  # removing them would give their numbers to other tokens
        token["content"] = f"{NEVER}{token['content']}"
    other = copy.copy(tokenizer)
    other._tokenizer = Tokenizer.from_str(json.dumps(content))
    return other
