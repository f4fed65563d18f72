"""What a file of parsers/ gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from structkit.errors import UserError
    from structkit.structure.trees.tree import Tree


class Unparsed(NamedTuple):
    """A text that waits for its tree, and what a parser may want to know of it."""

    text: str
    key: str = ""  # what its randomness is keyed by
    language: object = None  # what its record has for one
    sentence: str | None = None  # the plain text, where `text` is a tree of it


@dataclass(frozen=True)
class Parser(ABC):
    """A file of parsers/: the trees of texts.

    Its flags are those of `parse-trees`: tokenized, seed, url, timeout, model, language.
    """

    fields: ClassVar[tuple[str, ...]] = ("text",)
    """The fields with the text, the first that a record has."""

    factor: ClassVar[str] = "right"
    """How nodes of more than two children are cut: `right`, `left` or `balanced`."""

    @abstractmethod
    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree | UserError]:
        """A tree for each text in order, or the error that rejects the text.

        It is called for some hundred texts at a time: what is costly to load is kept.
        """
