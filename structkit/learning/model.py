"""What a trained model is for the rest of structkit: how it reads texts, and what computes it.

The engines are in `learning/encoding`.

Tests: tests/learning/encoders/test_encoders.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, ClassVar

from structkit.embeddings.vectors import Floats, Vectors
from structkit.errors import UserError
from structkit.learning.tokens import Chunk, Tokenizing, Truncation
from structkit.records.jsonl import Record


class Model(ABC):
    """Trained model: its reading of texts, for the engine that computes their embeddings.

    A model that torch computes extends `TorchModel` (structkit.learning.training.devices).
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """Parts of a text that also have embeddings: `chunk`, `tokens`, `nodes`."""

    truncation: Truncation
    """Counts of the texts read, and of those cut or with unknown words."""

    @abstractmethod
    def inputs(self, texts: Sequence[str], side: str) -> Sequence[Sized]:
        """Return texts as it reads them; `len()` of one is its cost."""

    def read_field(self, name: str) -> None:
        """Say from which field the next texts are: in some, tags are text."""
        return None

    def prepared(self, text: str) -> Record:
        """Return the data that `nodes` needs of a text. Errors: a text that it cannot read."""
        return {}

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """Return a text as inputs of `size` tokens each, for models with the part `chunk`."""
        raise NotImplementedError

    def read_at_most(self, side: str, length: int | None) -> None:
        """Read at most `length` tokens of texts of a side, None: as many as in training."""
        return None

    def nodes(
        self,
        records: Sequence[Record],
        which: str,
        batch_tokens: int,
        *,
        finish: Callable[[Floats], Floats],
    ) -> Iterator[list[Record]]:
        """Yield the nodes of each prepared text, with their embeddings, for models with `nodes`.

        A node is `{node, span, text, embedding}`; `which` is words, phrases or nodes; `finish` is
        applied to embeddings (nodes, dim) last.
        """
        raise NotImplementedError


class TokenModel(Model):
    """A model that reads texts as `tokenizing` does."""

    parts: ClassVar[tuple[str, ...]] = ("chunk",)
    tokenizing: Tokenizing

    def inputs(self, texts: Sequence[str], side: str) -> list[Sequence[int]]:
        return self.tokenizing.ids(texts, side)

    def read_field(self, name: str) -> None:
        self.tokenizing.read_field(name)

    def read_at_most(self, side: str, length: int | None) -> None:
        self.tokenizing.read_at_most(side, length)

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        return self.tokenizing.chunks(text, side, size)


class UnreadableText(UserError):
    """Error of one text of several: an engine does not know the records that they are of."""


class Engine(ABC):
    """Inference engine of a model's inputs; `len()` of an input is its cost.

    `batch_tokens` is the fastest size of a batch, `precision` the precision of matrix products: the
    fastest one that is exact enough, once known.
    """

    name: str
    model: Model
    dtype = "fp32"
    precision: str | None = "highest"
    batch_tokens = 1 << 30  # all inputs together

    @abstractmethod
    def embeddings(self, inputs: Sequence[Any]) -> Vectors:
        """Return the embeddings of some inputs, computed together, (inputs, dim)."""

    def token_rows(self, inputs: Sequence[Any], side: str) -> list[Vectors]:
        """Return an embedding per token, (rows, dim), of each input, for models with `tokens`."""
        raise NotImplementedError
