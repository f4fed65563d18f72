"""Stanza's constituency parser: `pip install stanza`, and its English models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from structkit import plugin
from structkit.errors import wrong_usage
from structkit.extras import require
from structkit.settings import settings_class
from structkit.structure.trees.brackets import clean, read_tree
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of


@settings_class
class Parser(plugin.Parser):
    """The trees of stanza's English parser, over structkit's words."""

    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """Yield the tree of each text. Errors: the package or its models are missing."""
        words = [words_of(each.text, tokenized=self.tokenized) for each in texts]
        for sentence in _pipeline()(words).sentences:
            yield clean(read_tree(str(sentence.constituency)))


@cache
def _pipeline() -> Any:
    stanza = require("stanza", "stanza")
    try:
        return stanza.Pipeline(
            "en",
            processors="tokenize,pos,constituency",
            tokenize_pretokenized=True,
            download_method=None,  # nothing that the user did not ask for
            verbose=False,
        )
    except Exception as error:
        # its error classes differ between versions
        reason = str(error).partition("\n")[0]
        raise wrong_usage(
            f"stanza's English models are not installed ({reason})",
            "install them: python -c \"import stanza; stanza.download('en')\"",
        ) from None
