"""The one way to a record's entities: whatever its language's plugin reads, and its flags."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.registry import canonical, implied, load
from structkit.structure.code.official import SHARES, names
from structkit.structure.code.spans import Span


@dataclass(frozen=True)
class Finder:
    """How the entities of a language are found: default fields, and spans of a record's text.

    `language` is its plugin's name.
    """

    language: str
    fields: tuple[str, ...]
    spans: Callable[[Record, str], list[Span]]


@cache
def finder(
    language: str,
    *,
    types: bool = False,
    tagger: str | None = None,
    profile: str = "paper",
    status: int = 2,
) -> Finder:
    """The finder of a language; a flag that the language does not have raises with `status`.

    A plugin has `entities(text)` or, where one text is not enough, `record_entities(record, text)`.
    A flag is a keyword of that function: `types`, `tagger`, `profile`.
    """
    language = canonical("language", language)
    plugin = load("language", language, status=status)
    read = getattr(plugin, "record_entities", None)
    function = read or plugin.entities
    flags: dict[str, Any] = {"types": types or None, "tagger": tagger}
    if profile == "official":
        flags["profile"] = profile
        if language in SHARES:
            function = partial(names, language, plugin)
    takes = inspect.signature(function).parameters
    given = {flag: value for flag, value in flags.items() if value is not None}
    for flag in given:
        if flag not in takes:
            raise UserError(f"language {language!r} {LACKS[flag]}", REMEDIES[flag], status=status)
    bound = partial(function, **given) if given else function
    fields = getattr(plugin, "FIELDS", ("code",))
    return Finder(language, tuple(fields), bound if read else _of_text(bound))


def language_of(record: Record, given: str | None = None) -> Any:
    """The language of a record: the one that is given, its own, or one that its fields imply.

    >>> language_of({"title": "Tea", "description": "Green tea."})
    'product'
    """
    found = given or record.get("language")
    if found is None and "code" not in record:
        return implied("language", record)
    return found


LACKS = {
    "types": "knows no types",
    "tagger": "uses no tagger",
    "profile": "is not in the released code of SANTA",
}
REMEDIES = {
    "types": "leave --types out",
    "tagger": "leave --tagger out",
    "profile": "leave --profile official out",
}


def _of_text(entities: Callable[[str], list[Span]]) -> Callable[[Record, str], list[Span]]:
    def spans(record: Record, text: str) -> list[Span]:
        return entities(text)

    return spans
