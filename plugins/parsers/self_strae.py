"""Trees that a trained Self-StrAE induces: the most similar neighbors are merged; needs --model.

Leaves are the words of the text, or the pieces of a model with subwords.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

import torch

from structkit import registry
from structkit.errors import UserError
from structkit.learning.strae.methods import TreeEncoder
from structkit.learning.training.devices import chosen_device
from structkit.learning.training.facts import FACTS, read_facts
from structkit.structure.trees.tree import Tree
from structkit.structure.trees.words import words_of

METHOD = "self-strae"
WINDOW = 256  # sentences merged at a time


def trees(
    texts: Iterable[str], *, model: str | None = None, tokenized: bool = False
) -> Iterator[Tree | UserError]:
    """The tree of each text; an error in place of one without words."""
    if model is None:
        raise UserError(
            "the parser self-strae needs --model", f"structkit train {METHOD} makes one", status=2
        )
    encoder = opened(Path(model))
    waiting = iter(texts)
    while window := list(islice(waiting, WINDOW)):
        sentences = [words_of(text, tokenized=tokenized) for text in window]
        with torch.inference_mode():
            found = iter(encoder.trees([words for words in sentences if words]))
        for words in sentences:
            yield next(found) if words else UserError("there are no words", "leave the record out")


@lru_cache(maxsize=2)
def opened(folder: Path) -> TreeEncoder:
    """The model in a folder. Errors: `UserError` where it holds no Self-StrAE."""
    kind = "no model folder"
    if (folder / FACTS).is_file():
        facts = read_facts(folder)
        if facts["method"] == METHOD:
            model: TreeEncoder = registry.load("method", METHOD).Method.load(folder, facts)
            return model.to(chosen_device(None)).eval()
        kind = f"a {facts['method']}: it makes no trees"
    raise UserError(f"--model {folder} is {kind}", f"structkit train {METHOD} makes one", status=2)
