"""Languages by name, with the flags they are given, and code by its grammar."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from structkit import plugin
from structkit.records.jsonl import Record
from structkit.registry import canonical, implied, load
from structkit.structure.code.spans import Span
from structkit.structure.code.treesitter import Grammar


@dataclass(frozen=True)
class CodeLanguage(plugin.Language):
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
) -> plugin.Language:
    """The language of that name or alias; one that does not take a flag raises with `status`."""
    flags: dict[str, Any] = {}
    if types:
        flags["types"] = types
    if tagger:
        flags["tagger"] = tagger
    if profile != "paper":
        flags["profile"] = profile
    name = canonical("language", name)
    return plugin.configured(load("language", name, status=status), name, flags, status=status)


def language_of(record: Record, given: str | None = None) -> Any:
    """The language of a record: the one that is given, its own, or one that its fields imply.

    >>> language_of({"title": "Tea", "description": "Green tea."})
    'product'
    """
    named = given or record.get("language")
    if named is None and "code" not in record:
        return implied("language", record)
    return named
