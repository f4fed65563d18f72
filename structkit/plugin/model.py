"""What a method's trained model provides to `encode`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Sized

    from structkit.embeddings.vectors import Floats
    from structkit.learning.training.tokens import Chunk, Truncation
    from structkit.records.jsonl import Record


class Model(ABC):
    """A trained model: how it reads texts, for the engine that computes their embeddings.

    One that torch computes extends `TorchModel` (structkit.learning.training.module).
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """The parts of a text for which it has embeddings, besides the whole: `chunk`, `nodes`."""

    truncation: Truncation
    """Counts of the texts read, and of those cut or with unknown words."""

    @abstractmethod
    def inputs(self, texts: Sequence[str], side: str) -> Sequence[Sized]:
        """Texts as it reads them; `len()` of one is its cost."""

    def read_field(self, name: str) -> None:
        """Say from which field the next texts are: in some, tags are text."""
        return None

    def prepared(self, text: str) -> Record:
        """What it keeps of a text, for `nodes`; a text that it cannot read raises."""
        return {}

    def chunks(self, text: str, side: str, size: int) -> list[Chunk]:
        """A text as inputs of `size` tokens each, for models with the part `chunk`."""
        raise NotImplementedError

    def read_at_most(self, side: str, length: int) -> None:
        """Read only so many tokens of texts of a side, for models with the part `chunk`."""
        raise NotImplementedError

    def nodes(
        self,
        records: Sequence[Record],
        which: str,
        batch_tokens: int,
        *,
        finish: Callable[[Floats], Floats],
    ) -> Iterator[list[Record]]:
        """The nodes of each prepared text, with their embeddings, for models with `nodes`.

        A node is `{node, span, text, embedding}`; `which` is words, phrases or all; `finish` is
        applied to embeddings (nodes, dim) last.
        """
        raise NotImplementedError
