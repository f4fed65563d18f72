"""What a file of languages/ provides."""

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
    `aliases`, `implied_by`, `extensions`, `claims` and `interpreters` are literals, read without
    an import.
    """

    fields: ClassVar[tuple[str, ...]] = ("code",)
    """Where the text is: in the first of these fields that a record has."""

    aliases: ClassVar[tuple[str, ...]] = ()
    """Its other names, in lower case."""

    implied_by: ClassVar[tuple[str, ...]] = ()
    """A record that has all these fields needs no `language` to be of this one."""

    extensions: ClassVar[tuple[str, ...]] = ()
    """The extensions of its files, or their whole names: `rb`, `Rakefile`."""

    claims: ClassVar[tuple[str, ...]] = ()
    """An extension of another language, and the pattern of such files that are of this one."""

    interpreters: ClassVar[tuple[str, ...]] = ()
    """The programs that the first line of such a file may name, after `#!`."""

    outline: ClassVar[Outline | None] = None
    """What its trees call functions and classes, for `collect`; None: it has no trees."""

    @abstractmethod
    def entities(self, text: str, record: Record) -> list[Span]:
        """Every occurrence of an entity in a text of a record, in order, without overlaps."""

    def drawn(self, names: Sequence[str], rng: Random) -> set[str] | None:
        """The entities to mask, of all occurrences, where `profile` draws some; None: all."""
        return None

    def docstring(self, text: str) -> Span | None:
        """The docstring inside a function's text, which `pair` takes as query and cuts out."""
        return None
