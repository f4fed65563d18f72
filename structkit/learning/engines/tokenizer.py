"""The tokenizers library alone, called as transformers calls it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer


class Encoded(dict[str, Any]):
    """What `FastTokenizer` returns: lists by name, and the encodings themselves."""

    def __init__(self, encodings: Sequence[Encoding], *, single: bool) -> None:
        self.encodings = encodings
        names = {
            "input_ids": "ids",
            "offset_mapping": "offsets",
            "special_tokens_mask": "special_tokens_mask",
        }
        for name, own in names.items():
            lists = [getattr(each, own) for each in encodings]
            self[name] = lists[0] if single else lists


class FastTokenizer:
    """A tokenizer from a file, as `Tokenizing` needs it.

    `split` reads the names of special tokens as ordinary text.
    """

    is_fast = True

    def __init__(self, file: Path, padding: int | None, *, split: bool) -> None:
        self.backend = Tokenizer.from_file(str(file))
        self.backend.no_padding()
        self.backend.encode_special_tokens = split
        self.pad_token_id = padding

    def __call__(
        self,
        texts: str | Sequence[str],
        *,
        truncation: bool = False,
        max_length: int | None = None,
        add_special_tokens: bool = True,
        **shown: bool,
    ) -> Encoded:
        """The tokens of a text, or of each of several."""
        if truncation and max_length is not None:
            self.backend.enable_truncation(max_length)
        else:
            self.backend.no_truncation()
        single = isinstance(texts, str)
        batch = [texts] if isinstance(texts, str) else list(texts)
        encodings = self.backend.encode_batch(batch, add_special_tokens=add_special_tokens)
        return Encoded(encodings, single=single)
