"""Languages: what a file of languages/ provides, code by its grammar, and languages by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, ClassVar

from structkit.records.jsonl import Record
from structkit.registry import Contract, canonical, configured, implied, load
from structkit.structure.code.outline import Outline
from structkit.structure.code.spans import Span
from structkit.structure.code.treesitter import Grammar


@dataclass(frozen=True)
class Language(Contract):
    """A file of languages/: where the entities of a text are.

    Its flags are those of `mask-entities`: types, tagger, profile. Code with a tree-sitter
    grammar extends `CodeLanguage`, which gives the rest.
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


@dataclass(frozen=True)
class CodeLanguage(Language):
    """A language whose entities are the names in code, by a tree-sitter grammar."""

    grammar: ClassVar[Grammar]

    types: bool = False

    def entities(self, text: str, record: Record) -> list[Span]:
        """Every name of the text; the record adds nothing."""
        return self.names(text)

    def names(self, text: str) -> list[Span]:
        """Every name; `types` adds the names of types."""
        return self.grammar.leaves(text, types=self.types)


@cache
def language_named(
    name: str,
    *,
    types: bool = False,
    tagger: str | None = None,
    profile: str = "paper",
    status: int = 2,
) -> Language:
    """The language of that name or alias; one that does not take a flag raises with `status`."""
    flags: dict[str, Any] = {}
    if types:
        flags["types"] = types
    if tagger:
        flags["tagger"] = tagger
    if profile != "paper":
        flags["profile"] = profile
    name = canonical("language", name)
    kind: type[Language] = load("language", name, status=status)
    return configured(kind, name, flags, status=status)


def language_of(record: Record, given: str | None = None) -> Any:
    """The language of a record: the one that is given, its own, or one that its fields imply.

    >>> language_of({"title": "Tea", "description": "Green tea."})
    'product'
    """
    named = given or record.get("language")
    if named is None and "code" not in record:
        return implied("language", record)
    return named
