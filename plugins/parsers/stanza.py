"""Stanza's constituency parser: `pip install 'structkit[stanza]'`, and its English models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from structkit.errors import UserError
from structkit.extras import require
from structkit.structure.trees.brackets import Tree, clean, read
from structkit.structure.trees.words import words_of


def trees(texts: Iterable[str], *, tokenized: bool = False) -> Iterator[Tree]:
    """The tree of each text, over our words. Errors: the package or its models are missing."""
    words = [words_of(text, tokenized=tokenized) for text in texts]
    for sentence in _pipeline()(words).sentences:
        yield clean(read(str(sentence.constituency)))


@cache
def _pipeline() -> Any:
    stanza = require("stanza", "stanza")
    try:
        return stanza.Pipeline(
            "en",
            processors="tokenize,pos,constituency",
            tokenize_pretokenized=True,
            download_method=None,  # nothing behind the user's back
            verbose=False,
        )
    except Exception as error:
        # of its own kinds, which differ between its versions
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"stanza's English models are not installed ({reason})",
            "python -c \"import stanza; stanza.download('en')\" installs them",
            status=2,
        ) from None
