"""Fields of records by name: their values, conditions on them, and changes to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from structkit.errors import UserError, flag
from structkit.records.jsonl import Record

ABSENT = object()
WRITTEN = re.compile(r"(.+?)(!=|!~|=|~)(.*)", re.DOTALL)


def lookup(record: Record, field: str) -> object:
    """The value of a field, or `ABSENT`; `a.b` is in the object `a`, and BEIR's `_id` is an id.

    >>> lookup({"_id": "1", "meta": {"year": 2024}}, "meta.year")
    2024
    """
    if field in record:
        return record[field]
    if field == "id":
        return record.get("_id", ABSENT)
    value: object = record
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def plain(value: object) -> str:
    """A JSON value as it is written in a flag.

    >>> [plain(value) for value in ("x", 3, 0.5, True, None)]
    ['x', '3', '0.5', 'true', 'null']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def items(value: object) -> list[str]:
    """The texts to compare with: the value's, or those of a list's items; an object has none."""
    values = value if isinstance(value, list) else [value]
    return [plain(item) for item in values if not isinstance(item, dict | list)]


@dataclass(frozen=True)
class Condition:
    """What a field must hold: a text, a match of a regular expression, or neither.

    A record without the field never passes; a list holds what any of its items is.
    """

    field: str
    pattern: re.Pattern[str]
    wanted: bool = True

    @classmethod
    def parse(cls, text: str, name: str = "where") -> Condition:
        """The condition that `FIELD=VALUE`, `FIELD!=VALUE`, `FIELD~REGEX` or `FIELD!~REGEX` is.

        >>> Condition.parse("kind~^(lead|question)$").passes({"kind": "lead"})
        True
        >>> Condition.parse("tags!=old").passes({"tags": ["new", "old"]})
        False
        """
        match = WRITTEN.fullmatch(text)
        if not match:
            raise UserError(
                f"{flag(name, text)} is not a condition",
                "write FIELD=VALUE, FIELD!=VALUE, FIELD~REGEX or FIELD!~REGEX",
                status=2,
            )
        field, sign, value = match.groups()
        pattern = compiled(value, name) if "~" in sign else re.compile(rf"\A{re.escape(value)}\Z")
        return cls(field, pattern, not sign.startswith("!"))

    def passes(self, record: Record) -> bool:
        value = lookup(record, self.field)
        if value is ABSENT:
            return False
        return any(map(self.pattern.search, items(value))) == self.wanted


def compiled(pattern: str, name: str) -> re.Pattern[str]:
    """The regular expression in a setting."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UserError(
            f"{flag(name)}: {pattern!r} is not a regular expression ({error})",
            "put a backslash before a character that stands for itself",
            status=2,
        ) from None


@dataclass(frozen=True)
class Changes:
    """Changes to a record's fields, made in this order; fields that it lacks are skipped.

    `strip` cuts matches out of texts, `fields` are the only ones to keep, `rename` maps old to new
    names, `values` are the same for all records.
    """

    strip: tuple[tuple[str, re.Pattern[str]], ...] = ()
    fields: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        strip: Sequence[str] = (),
        fields: str | None = None,
        rename: Sequence[str] = (),
        values: Sequence[str] = (),
    ) -> Changes:
        """The changes that FIELD=REGEX, FIELD,…, OLD=NEW and FIELD=TEXT or FIELD:=JSON are.

        >>> Changes.parse(["a=[.]$"], "a,b", ["b=c"], ["n:=1"]).made({"a": "x.", "b": 2, "d": 3})
        {'a': 'x', 'c': 2, 'n': 1}
        """
        old_and_new = [_sides(text, "rename", "OLD=NEW") for text in rename]
        for names in zip(*old_and_new, strict=True):
            _refuse_twice("rename", names)
        given = [_value(*_sides(text, "set", "FIELD=TEXT or FIELD:=JSON")) for text in values]
        _refuse_twice("set", [name for name, _ in given])
        kept = tuple(fields.split(",")) if fields is not None else ()
        if "" in kept:
            problem = f"{flag('fields')} names an empty field"
            raise UserError(problem, "remove a comma", status=2)
        for old, _ in old_and_new if kept else ():
            if old not in kept:
                problem = f"{flag('rename', old)} is not among {flag('fields')}"
                raise UserError(problem, "add it", status=2)
        cuts = [_sides(text, "strip", "FIELD=REGEX") for text in strip]
        return cls(
            tuple((name, compiled(pattern, "strip")) for name, pattern in cuts),
            kept,
            dict(old_and_new),
            dict(given),
        )

    @property
    def names(self) -> list[str]:
        """The fields that records are expected to have."""
        return [*(name for name, _ in self.strip), *self.fields, *self.rename]

    def made(self, record: Record) -> Record:
        """The changed record; the given one stays as it is."""
        for name, pattern in self.strip:
            if isinstance(text := record.get(name), str):
                record = {**record, name: pattern.sub("", text)}
        if self.fields:
            values = ((name, lookup(record, name)) for name in self.fields)
            record = {name: value for name, value in values if value is not ABSENT}
        if self.rename:
            new = {name for old, name in self.rename.items() if old in record}
            record = {
                self.rename.get(name, name): value
                for name, value in record.items()
                if name in self.rename or name not in new
            }
        return {**record, **self.values}


def _sides(text: str, name: str, form: str) -> tuple[str, str]:
    """The two sides of an equals sign; a name is not empty."""
    left, sign, right = text.partition("=")
    if not left.rstrip(":") or not sign or (name == "rename" and not right):
        raise UserError(f"{flag(name, text)} is incomplete", f"write {form}", status=2)
    return left, right


def _value(name: str, text: str) -> tuple[str, Any]:
    """A field and its value: text, or JSON where the name ends in a colon."""
    if not name.endswith(":"):
        return name, text
    try:
        return name[:-1], orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UserError(
            f"{flag('set', f'{name}={text}')} is not JSON ({error})",
            f"for a text write {name[:-1]}=TEXT",
            status=2,
        ) from None


def _refuse_twice(setting: str, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise UserError(f"{flag(setting)} names {name} twice", "leave one out", status=2)
