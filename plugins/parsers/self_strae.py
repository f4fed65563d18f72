"""Trees induced by a trained model, by merging the most similar neighbors; needs --model.

Leaves are the words of the text, or its subwords if the model uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import torch

from structkit import plugin, registry
from structkit.errors import flag, program, wrong_usage
from structkit.learning.metadata import has_metadata, read_metadata
from structkit.learning.strae.settings import TreeSettings
from structkit.learning.strae.training import TreeEncoder
from structkit.learning.training.devices import chosen_device
from structkit.plugin import setting
from structkit.settings import settings_class
from structkit.structure.trees.tree import Tree, no_words
from structkit.structure.trees.words import words_of


def remedy() -> str:
    """Return the remedy that makes a model."""
    return f"make one with {program('train', 'self-strae')}"


@settings_class
class Parser(plugin.Parser):
    """The trees of a trained Self-StrAE or Banyan, in the folder `model`."""

    model: str = setting(..., remedy=remedy)
    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree]:
        """Yield the tree of each text."""
        encoder = open_encoder(Path(self.model))
        sentences = [words_of(each.text, tokenized=self.tokenized) for each in texts]
        if not all(sentences):
            raise no_words()
        with torch.inference_mode():
            yield from encoder.trees(sentences)


@lru_cache(maxsize=2)
def open_encoder(folder: Path) -> TreeEncoder:
    """Open the model in a folder. Errors: `UserError` if it holds no model that makes trees."""
    metadata = read_metadata(folder) if has_metadata(folder) else {}
    method = registry.load("method", metadata["method"]) if metadata else None
    if not method or not issubclass(method, TreeSettings) or "tree" in method.needs:
        raise wrong_usage(f"{flag('model', str(folder))} is not a model that makes trees", remedy())
    model = method.load(folder, metadata)
    assert isinstance(model, TreeEncoder)
    return model.to(chosen_device(None)).eval()
