"""A tokenizer trained on the records themselves, for models from scratch."""

from __future__ import annotations

from collections.abc import Iterable

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

SENTINELS = [f"<extra_id_{number}>" for number in range(100)]
PAD, EOS, UNKNOWN = "<pad>", "</s>", "<unk>"  # ids 0, 1, 2 as in T5
CLS, MASK = "<s>", "<mask>"


def train_tokenizer(
    texts: Iterable[str], size: int, *, split_identifiers: bool, cls: bool = False
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of at most `size` tokens: no text is unknown to it.

    Runs of whitespace become one blank, as in T5's own tokenizer. `split_identifiers` lowercases
    and cuts `fooBar`, `HTTPServer` and `foo_bar` into words. Sentinels are never touched.
    `cls` starts every text with a CLS token.
    """
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = _normalizer(split_identifiers)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(SENTINELS),
        special_tokens=[PAD, EOS, UNKNOWN, CLS, MASK],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_without_sentinels(texts), trainer)
    tokenizer.add_special_tokens(
        # the blank before a sentinel belongs to it, or each would cost a token of its own
        [AddedToken(name, special=True, normalized=False, lstrip=True) for name in SENTINELS]
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
    )


def _normalizer(split_identifiers: bool) -> normalizers.Normalizer:
    steps = [
        normalizers.Replace(Regex("(?<=[a-z0-9])(?=[A-Z])"), " "),
        normalizers.Replace(Regex("(?<=[A-Z])(?=[A-Z][a-z])"), " "),
        normalizers.Replace("_", " "),
        normalizers.Lowercase(),
    ]
    last = [
        # a word at the start is the same token as elsewhere; what follows a sentinel is a start too
        normalizers.Prepend(" "),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Replace(Regex(r"\A (?=[^\w\s])"), ""),
    ]
    return normalizers.Sequence([*(steps if split_identifiers else ()), *last])


def _without_sentinels(texts: Iterable[str]) -> Iterable[str]:
    """Texts in which no merge can be learned from the letters of a sentinel."""
    for text in texts:
        if "<extra_id_" in text:
            for name in SENTINELS:
                text = text.replace(name, " ")
        yield text
