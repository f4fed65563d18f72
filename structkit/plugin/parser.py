"""What a file of parsers/ provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from structkit.errors import UserError
    from structkit.structure.trees.tree import Tree


class Unparsed(NamedTuple):
    """A text to parse, with what a parser may need to know about it."""

    text: str
    key: str = ""  # what its randomness is keyed by
    language: object = None  # the `language` of its record
    sentence: str | None = None  # the plain text, if `text` is its tree


@dataclass(frozen=True)
class Parser(ABC):
    """A file of parsers/: the trees of texts.

    Its flags are those of `parse-trees`: tokenized, seed, url, timeout, model, language.
    """

    fields: ClassVar[tuple[str, ...]] = ("text",)
    """Where the text is: in the first of these fields that a record has."""

    factor: ClassVar[str] = "right"
    """How nodes of more than two children are cut: `right`, `left` or `balanced`."""

    @abstractmethod
    def trees(self, texts: Iterable[Unparsed]) -> Iterator[Tree | UserError]:
        """A tree for each text in order, or the error that rejects the text.

        It is called for a few hundred texts at a time: keep what is costly to load.
        """
