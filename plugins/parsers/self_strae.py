"""Trees induced by a trained model, by merging the most similar neighbors; needs --model.

Leaves are the words of the text, or the pieces of a model with subwords.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

import torch

from structkit import plugin, registry
from structkit.errors import UserError
from structkit.learning.folders.facts import has_facts, read_facts
from structkit.learning.strae.nodes import TreeEncoder
from structkit.learning.strae.settings import ComposedSettings
from structkit.learning.training.devices import chosen_device
from structkit.structure.trees.tree import Tree, no_words
from structkit.structure.trees.words import words_of

METHOD = "self-strae"
WINDOW = 256  # sentences merged at a time


@dataclass(frozen=True)
class Parser(plugin.Parser):
    """The trees of a trained Self-StrAE or Banyan, in the folder `model`."""

    model: str = field(metadata={"remedy": f"make one with structkit train {METHOD}"})
    tokenized: bool = False

    def trees(self, texts: Iterable[plugin.Unparsed]) -> Iterator[Tree | UserError]:
        """The tree of each text."""
        encoder = opened(Path(self.model))
        waiting = iter(texts)
        while window := list(islice(waiting, WINDOW)):
            sentences = [words_of(each.text, tokenized=self.tokenized) for each in window]
            with torch.inference_mode():
                induced = iter(encoder.trees([words for words in sentences if words]))
            for words in sentences:
                yield next(induced) if words else no_words()


@lru_cache(maxsize=2)
def opened(folder: Path) -> TreeEncoder:
    """The model in a folder. Errors: `UserError` if it holds no model that makes trees."""
    remedy = f"make one with structkit train {METHOD}"
    if not has_facts(folder):
        raise UserError(f"--model {folder} is not a model folder", remedy)
    facts = read_facts(folder)
    method = registry.load("method", facts["method"])
    if not (issubclass(method, ComposedSettings) and method.induce):
        problem = f"--model {folder} is a {facts['method']}, which makes no trees"
        raise UserError(problem, remedy, status=2)
    model = method.load(folder, facts)
    assert isinstance(model, TreeEncoder)
    return model.to(chosen_device(None)).eval()
