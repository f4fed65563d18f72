"""What a file of languages/ gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from structkit.records.jsonl import Record
    from structkit.structure.code.outline import Outline
    from structkit.structure.code.spans import Span


@dataclass(frozen=True)
class Language(ABC):
    """A file of languages/: where the entities of a text are.

    Its flags are those of `mask-entities`: types, tagger, profile. Code with a tree-sitter
    grammar extends `CodeLanguage` (structkit.structure.code.languages), which gives the rest.
    `aliases`, `implied_by`, `extensions`, `claims`, `interpreters`: literal strings, read without
    an import.
    """

    fields: ClassVar[tuple[str, ...]] = ("code",)
    """The fields with the text, the first that a record has."""

    aliases: ClassVar[tuple[str, ...]] = ()
    """Its other names, in lower case."""

    implied_by: ClassVar[tuple[str, ...]] = ()
    """Fields of a record that needs no `language` to be of this one."""

    extensions: ClassVar[tuple[str, ...]] = ()
    """The extensions of its files, or their whole names: `rb`, `Rakefile`."""

    claims: ClassVar[tuple[str, ...]] = ()
    """An extension of another language, and the pattern that makes such a file one of its own."""

    interpreters: ClassVar[tuple[str, ...]] = ()
    """The programs that the first line of such a file may name, after `#!`."""

    outline: ClassVar[Outline | None] = None
    """What its trees call functions and classes, for `collect`; without, it has no trees."""

    @abstractmethod
    def entities(self, text: str, record: Record) -> list[Span]:
        """Every occurrence of an entity in a text of a record, in order, none over another."""

    def drawn(self, names: Sequence[str], rng: Random) -> set[str] | None:
        """The entities to mask, given every occurrence, where `profile` draws some; or all."""
        return None

    def docstring(self, text: str) -> Span | None:
        """Where a function keeps its query in its own text, which `pair` cuts out."""
        return None
