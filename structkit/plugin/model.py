"""What a method's trained model gives `encode`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Sized

    from structkit.embeddings.vectors import Floats
    from structkit.learning.training.tokens import Chunk, Truncation
    from structkit.records.jsonl import Record


class Model(ABC):
    """A trained model: what it reads of texts, for the engine that computes their embeddings.

    One that torch computes extends `TorchModel` (structkit.learning.training.module).
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """The parts of a text that it has embeddings of, beside the whole: `chunk`, `nodes`."""

    truncation: Truncation
    """Counts of what it read, and of what it cut or did not know."""

    @abstractmethod
    def inputs(self, texts: Sequence[str], side: str) -> Sequence[Sized]:
        """Texts as it reads them; `len()` of one is what it costs."""

    def read_field(self, name: str) -> None:
        """Told the field of the texts that come next, where tags are text in some."""
        return None

    def prepared(self, text: str) -> Record:
        """What it keeps of a text, for `nodes`; a text that it cannot read is refused."""
        return {}

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """A text as inputs of `size` tokens each: of models with the part `chunk`."""
        raise NotImplementedError

    def nodes(
        self,
        records: Sequence[Record],
        which: str,
        batch_tokens: int,
        *,
        downward: bool = False,
        finish: Callable[[Floats], Floats],
    ) -> Iterator[list[Record]]:
        """The nodes of each prepared text, with their embeddings: of models with `nodes`.

        A node is `{node, span, text, embedding}`, and with `downward` has that embedding too;
        `which` is words, phrases or all; `finish` is done to embeddings (nodes, dim) at the end.
        """
        raise NotImplementedError
