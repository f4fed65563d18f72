"""Languages: the contract of a file of languages/, code by its grammar, and languages by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any, ClassVar

from structkit.errors import UserError, data_errors
from structkit.extras import LANGUAGES, require
from structkit.records.jsonl import Record
from structkit.registry import Contract, canonical, configure, implied, load, names
from structkit.settings import settings_class
from structkit.structure import Span
from structkit.structure.code.grammar import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    SINGLE_QUOTED,
    Grammar,
    keywords_of,
)
from structkit.structure.code.outline import Outline

OPAQUE = (LINE_COMMENT, BLOCK_COMMENT, rb'"{3}.*?(?:"{3}|\Z)', DOUBLE_QUOTED, SINGLE_QUOTED)


@settings_class
class Language(Contract):
    """Contract of a file of languages/: the entities of a text.

    Its flags are among `mask-entities`': types, tagger. Code with a tree-sitter grammar
    extends `CodeLanguage`, which provides the rest. Its other names and the signs of its files are
    those of `structkit.registry.Signs`.
    """

    fields: ClassVar[tuple[str, ...]] = ("code",)
    """Fields of the text; the first one that a record has counts."""

    outline: ClassVar[Outline | None] = None
    """Names of functions and classes in its trees, for `collect`; None: it has no trees."""

    @abstractmethod
    def entities(self, text: str, record: Record) -> list[Span]:
        """Return every entity in a text of a record, in order, without overlaps."""

    def draw(self, names: Sequence[str], rng: Random) -> set[str] | None:
        """Return the entities to mask, of all occurrences, if a profile draws some; None: all."""
        return None

    def docstring(self, text: str) -> Span | None:
        """Return the docstring inside a function's text, which `pair` cuts out as the query."""
        return None


@settings_class
class CodeLanguage(Language):
    """A language whose entities are the names in code, by a tree-sitter grammar."""

    grammar: ClassVar[Grammar]

    types: bool = False

    def entities(self, text: str, record: Record) -> list[Span]:
        """Return every name of the text; the record adds nothing."""
        return self.names(text)

    def names(self, text: str) -> list[Span]:
        """Return every name; `types` adds the names of types."""
        return self.grammar.leaves(text, types=self.types)


def grammar_of(package: str, **parts: Any) -> Grammar:
    """Return the grammar of a package of the extra `languages`, with what most languages have."""
    pointer = require(package, LANGUAGES).language()
    usual = {"take": ("identifier",), "reserved": keywords_of(pointer), "opaque": OPAQUE}
    return Grammar(pointer, **{**usual, **parts})


@cache
def language_named(name: str, *, types: bool = False, tagger: str | None = None) -> Language:
    """Return the language with that name or alias. Errors: it is unknown; a foreign flag."""
    flags = {"types": types, "tagger": tagger}
    flags = {name: value for name, value in flags.items() if value}
    name = canonical("language", name)
    kind: type[Language] = load("language", name)
    return configure(kind, name, flags)


class Profile(Contract):
    """Contract of a file of profiles/: the languages, as `mask-entities` masks them."""

    @property
    @abstractmethod
    def mask_ratio(self) -> float | None:
        """The usual share of distinct entities to mask; None: its languages draw them."""

    def language(self, name: str, *, types: bool = False, tagger: str | None = None) -> Language:
        """Return the language with that name or alias. Errors: it is unknown; a foreign flag."""
        return language_named(name, types=types, tagger=tagger)


@cache
def outline_of(language: str) -> Outline | None:
    """Return the outline of a language; None: it has none. Errors: it lacks its grammar."""
    return load("language", language).outline if language in names("language") else None


def language_of(record: Record, given: str | None = None) -> Any:
    """Return the language of a record: the given one, its own, or one that its fields imply.

    >>> language_of({"title": "Tea", "description": "Green tea."})
    'product'
    """
    named = given or record.get("language")
    if named is None and "code" not in record:
        return implied("language", frozenset(record))
    return named


def check_spans(spans: list[Span], text: str, language: Language) -> list[Span]:
    """Return the spans after checking them against the text; a bug of the plugin raises."""
    at = 0
    for start, end in spans:
        if not at <= start < end:
            break
        at = end
    else:
        if at <= len(text):
            return spans
    given = type(language).__module__
    problem = f"the language {given} gives spans that are empty, overlap or leave the text"
    raise UserError(problem, "mend it")


def without_docstring(code: str, record: Record) -> str:
    """Return the code without its function's docstring: a document must not contain its query."""
    name = record.get("language")
    if not isinstance(name, str):
        return code
    with data_errors():
        language = language_named(name)
    span = language.docstring(code)
    if span is None:
        return code
    if "masked" in record:
        raise UserError(
            "the record is masked already, with the docstring inside",
            "run pair before mask-entities",
        )
    return cut(code, *check_spans([span], code, language))


def cut(text: str, span: Span) -> str:
    r"""Return the text without a statement: its lines, or itself and its semicolon.

    >>> cut("def f():\n    'doc'\n    return 1", (13, 18))
    'def f():\n    return 1'
    >>> cut("def f(): 'doc'; return 1", (9, 14))
    'def f(): return 1'
    """
    before, after = text[: span[0]], text[span[1] :]
    rest, newline, following = after.partition("\n")
    if rest.lstrip().startswith(";"):
        return before + after.lstrip().removeprefix(";").lstrip(" \t")
    line = before.rpartition("\n")[2]
    if not line.strip() and not rest.strip():
        return before[: len(before) - len(line)] + following
    return before + after
