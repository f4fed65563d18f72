"""Texts to embeddings, fast: each text once, in batches of texts of similar lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError
from structkit.learning.encoding.engines import Engine
from structkit.learning.encoding.reading import ReadRecord
from structkit.learning.folders.weights import not_finite, spoiled
from structkit.learning.static.encoder import normalized


class Embedder:
    """An engine for one side, with at most `batch_tokens` padded tokens in a batch.

    `normalize` scales embeddings to length 1, whatever the model does.
    """

    def __init__(
        self, engine: Engine, side: str, batch_tokens: int, *, normalize: bool = False
    ) -> None:
        self.engine, self.side, self.batch_tokens = engine, side, batch_tokens
        self.normalize = normalize

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The embeddings of some texts in their order, (texts, dim).

        A text is computed once, however often it is among them; one that comes in a later call is
        computed again, so that memory does not grow with the corpus.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        embeddings = self.embed_inputs(self.engine.inputs(list(places), self.side))
        return embeddings[[places[text] for text in texts]]  # (texts, dim)

    def embed_inputs(self, inputs: Sequence[Any]) -> Vectors:
        """The embeddings of inputs in their order, (inputs, dim)."""
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]), reverse=True)
        embeddings: Vectors | None = None
        for batch in budgeted([len(inputs[place]) for place in order], self.batch_tokens):
            chosen = [order[rank] for rank in batch]
            computed = self.engine.embeddings([inputs[place] for place in chosen])
            some = self.finished(computed)  # (batch, dim)
            if embeddings is None:
                embeddings = np.empty((len(inputs), some.shape[1]), np.float32)
            embeddings[chosen] = some
        assert embeddings is not None
        return embeddings

    def finished(self, embeddings: Vectors) -> Vectors:
        """A model's embeddings (inputs, dim), normalized if they are to be."""
        return normalized(embeddings) if self.normalize else embeddings


def check_finite(
    records: Sequence[ReadRecord], owners: Sequence[str], embeddings: Vectors, folder: Path
) -> None:
    """Raise if an embedding (owners, dim) is not finite, with the place of its record.

    `owners` are the ids of the records that the embeddings are of. Where the weights in the model's
    `folder` are to blame, the place is their file.
    """
    finite = np.isfinite(embeddings).all(axis=-1)
    if finite.all():
        return
    if not_finite(folder):
        raise spoiled(folder)
    owner = owners[int(np.argmin(finite))]
    here = next(record.here for record in records if record.id == owner)
    where = "" if all(here) else f'the record "{owner}": '
    problem = f"{where}the model's embedding of the text holds NaN or infinity"
    raise UserError(problem, spoiled(folder).remedy).at(*here)


def budgeted(lengths: Sequence[int], budget: int) -> Iterator[range]:
    """Cut falling lengths into runs whose padded size fits the budget, at least one each.

    >>> list(budgeted([5, 4, 2, 2], 8))
    [range(0, 1), range(1, 3), range(3, 4)]
    """
    start = 0
    while start < len(lengths):
        end = start + max(1, budget // max(1, lengths[start]))
        yield range(start, min(end, len(lengths)))
        start = end
