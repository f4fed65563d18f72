"""Choose records, join them, and change their fields."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import orjson

from structkit.command import Command
from structkit.errors import UserError, flag, guess, wrong_usage
from structkit.progress import format_count, say
from structkit.records.fields import ABSENT, flag_text, items, lookup
from structkit.records.jsonl import Lines, Record, Records, Stage
from structkit.records.output import dump
from structkit.records.stream import Options
from structkit.reproducibility import key
from structkit.settings import file_setting, seed_setting, setting, settings_class

WHERE_CONDITION = re.compile(r"(.+?)(!=|!~|=|~)(.*)", re.DOTALL)


@settings_class
class Settings:
    """Filter records, join them with others, and choose, rename and set their fields.

    Flags apply in the order of this list. Records without an id stay without one.
    """

    where: tuple[str, ...] = setting(
        (),
        "Keep records whose field is VALUE (FIELD!=VALUE: is not, FIELD~REGEX: matches, "
        "FIELD!~REGEX: does not match); all conditions must hold. One item of a list "
        "suffices; a.b is the field b of the object a.",
        metavar="FIELD=VALUE",
    )
    in_: tuple[str, ...] = file_setting("Keep records whose id occurs in this file.", ())
    not_in: tuple[str, ...] = file_setting("Keep records whose id does not occur in this file.", ())
    head: int | None = setting(
        None,
        "Keep the first N records, then stop reading.",
        metavar="N",
        low=1,
        excludes=("sample", "shard"),
    )
    sample: int | None = setting(
        None,
        "Keep N records, drawn by seed and id: the same ones in any order of the input.",
        metavar="N",
        low=1,
        excludes="shard",
    )
    join: tuple[str, ...] = file_setting(
        "Add missing fields from this file's record with the same id.", ()
    )
    on: str = setting(
        None,
        "Field that {in_}, {not_in} and {join} compare; OURS=THEIRS if the file has another "
        "name for it.",
        usual="id",
        metavar="FIELD",
        requires=("in_", "not_in", "join"),
    )
    strip: tuple[str, ...] = setting(
        (), "Remove matches from the field's text.", metavar="FIELD=REGEX"
    )
    fields: str | None = setting(None, "Keep only these fields, in this order.", metavar="FIELD,…")
    rename: tuple[str, ...] = setting((), "Rename a field.", metavar="OLD=NEW")
    set: tuple[str, ...] = setting(
        (), "Set a field to this text; FIELD:=JSON sets it to a JSON value.", metavar="FIELD=TEXT"
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        for text in self.where:
            Condition.parse(text)
        Changes(self)


def select(settings: Settings) -> Stage:
    """Filter, join and change records.

    `head` takes the first that pass, `sample` draws by (seed, id), the same records in any order of
    the input; a record without an id is drawn by its content. The sample and the joined files are
    held in memory.

    >>> selection = select(Settings(where=("kind!=title",)))
    >>> [[*selection.each({"id": "1", "kind": kind})] for kind in ("title", "lead")]
    [[], [{'id': '1', 'kind': 'lead'}]]
    """
    selection = Selection(settings)
    return Stage(selection.choose, selection.change)


@dataclass(frozen=True)
class Condition:
    """Condition on a field: equal to a text, or matching a regular expression, or neither.

    A record without the field never passes; a list passes if one of its items does.
    """

    field: str
    pattern: re.Pattern[str]
    expected: bool = True

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse `FIELD=VALUE`, `FIELD!=VALUE`, `FIELD~REGEX` or `FIELD!~REGEX`.

        >>> Condition.parse("kind~^(lead|question)$").passes({"kind": "lead"})
        True
        >>> Condition.parse("tags!=old").passes({"tags": ["new", "old"]})
        False
        """
        match = WHERE_CONDITION.fullmatch(text)
        if not match:
            raise wrong_usage(
                f"{flag('where', text)} is not a condition",
                "write FIELD=VALUE, FIELD!=VALUE, FIELD~REGEX or FIELD!~REGEX",
            )
        field, sign, value = match.groups()
        pattern = (
            pattern_of(value, "where") if "~" in sign else re.compile(rf"\A{re.escape(value)}\Z")
        )
        return cls(field, pattern, not sign.startswith("!"))

    def passes(self, record: Record) -> bool:
        value = lookup(record, self.field)
        if value is ABSENT:
            return False
        return any(map(self.pattern.search, items(value))) == self.expected


def pattern_of(pattern: str, name: str) -> re.Pattern[str]:
    """Compile the regular expression in a setting."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise wrong_usage(
            f"{flag(name)}: {pattern!r} is not a regular expression ({error})",
            "put a backslash before a literal special character",
        ) from None


class Changes:
    """Changes to a record's fields, made in this order; fields that it lacks are skipped.

    `strip` (FIELD=REGEX) cuts matches out of texts, `fields` (FIELD,…) are the only ones to keep,
    `rename` is OLD=NEW, what `set` gives (FIELD=TEXT or FIELD:=JSON) is the same for all records.

    >>> settings = Settings(strip=("a=[.]$",), fields="a,b", rename=("b=c",), set=("n:=1",))
    >>> Changes(settings).apply({"a": "x.", "b": 2, "d": 3})
    {'a': 'x', 'c': 2, 'n': 1}
    """

    def __init__(self, settings: Settings) -> None:
        self.fields = settings.fields.split(",") if settings.fields is not None else []
        self.rename = dict(_sides(text, "rename", "OLD=NEW") for text in settings.rename)
        new_names = [*self.rename.values()]
        for name in new_names:
            if new_names.count(name) > 1:
                raise wrong_usage(f"{flag('rename')} names {name} twice", "leave one out")
        cuts = [_sides(text, "strip", "FIELD=REGEX") for text in settings.strip]
        self.strip = [(name, pattern_of(pattern, "strip")) for name, pattern in cuts]
        sides = [_sides(text, "set", "FIELD=TEXT or FIELD:=JSON") for text in settings.set]
        self.values = dict(_value_to_set(*name_and_text) for name_and_text in sides)
        # the fields that records are expected to have
        self.names = [*(name for name, _ in self.strip), *self.fields, *self.rename]

    def apply(self, record: Record) -> Record:
        """Return the changed record; the given one is not modified."""
        for name, pattern in self.strip:
            if isinstance(text := record.get(name), str):
                record = {**record, name: pattern.sub("", text)}
        if self.fields:
            values = ((name, lookup(record, name)) for name in self.fields)
            record = {name: value for name, value in values if value is not ABSENT}
        if self.rename:
            replaced = {name for old, name in self.rename.items() if old in record}
            record = {
                self.rename.get(name, name): value
                for name, value in record.items()
                if name in self.rename or name not in replaced
            }
        return {**record, **self.values}


def _sides(text: str, name: str, form: str) -> tuple[str, str]:
    """Return the two sides of an equals sign; a name is not empty."""
    left, sign, right = text.partition("=")
    if not left.rstrip(":") or not sign or (name == "rename" and not right):
        raise wrong_usage(f"{flag(name, text)} is incomplete", f"write {form}")
    return left, right


def _value_to_set(name: str, text: str) -> tuple[str, Any]:
    """Return a field and its value: text, or JSON if the name ends in a colon."""
    if not name.endswith(":"):
        return name, text
    try:
        return name[:-1], orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise wrong_usage(
            f"{flag('set', f'{name}={text}')} is not JSON ({error})",
            f"for a text write {name[:-1]}=TEXT",
        ) from None


@dataclass(frozen=True)
class Partners:
    """Records of another file, found by a field of ours.

    As a condition, a record passes if it has a partner or, unless `expected`, if it has none. A
    record without the field never passes.

    >>> partners = Partners("titles.jsonl", "doc_id", {"d1": {"id": "d1", "title": "Tea"}})
    >>> partners.join({"id": "q1", "doc_id": "d1"})
    {'id': 'q1', 'doc_id': 'd1', 'title': 'Tea'}
    """

    path: str
    field: str
    records: dict[str, Record]
    expected: bool = True

    @classmethod
    def read(
        cls, path: str, on: str, *, keep_records: bool = True, expected: bool = True
    ) -> Partners:
        """Read a file's records (or only ids); `on`: a field or OURS=THEIRS."""
        ours, _, theirs = on.partition("=")
        records_by_value: dict[str, Record] = {}
        records = Records(Lines([path]), numbered=False)
        for record in records:
            value = identity(record, theirs or ours)
            if value is None:
                raise records.place(
                    UserError(
                        f'field "{theirs or ours}" is missing, or neither text nor number',
                        f"name the field that matches our {ours}: {flag('on', f'{ours}=FIELD')}",
                    )
                )
            if keep_records and value in records_by_value:
                raise records.place(
                    UserError(
                        f'{theirs or ours} "{value}" occurs twice',
                        f"keep one of each in the file of {flag('join')}",
                    )
                )
            records_by_value[value] = record if keep_records else {}
        return cls(path, ours, records_by_value, expected)

    def join(self, record: Record) -> Record | None:
        """Return the record with its partner's fields that it lacks; None without a partner."""
        name = identity(record, self.field)
        partner = None if name is None else self.records.get(name)
        if partner is None:
            return None
        return record | {name: value for name, value in partner.items() if name not in record}

    def passes(self, record: Record) -> bool:
        name = identity(record, self.field)
        return name is not None and (name in self.records) == self.expected


def identity(record: Record, field: str) -> str | None:
    """Return the value of a field as text, if it is a text or a number."""
    value = lookup(record, field)
    return flag_text(value) if isinstance(value, str | int | float) else None


class Selection:
    """Selection and change of records; reports at the end what was odd."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.changes = settings, Changes(settings)
        self.joins = [Partners.read(path, settings.on) for path in settings.join]
        self.conditions: list[Condition | Partners] = [*map(Condition.parse, settings.where)]
        for paths, expected in ((settings.in_, True), (settings.not_in, False)):
            self.conditions += [
                Partners.read(path, settings.on, keep_records=False, expected=expected)
                for path in paths
            ]
        self._without_partner: Counter[str] = Counter()
        fields = [part.field for part in (*self.conditions, *self.joins)]
        self._missing_fields = dict.fromkeys([*fields, *self.changes.names])
        self._first: Record = {}

    def choose(self, record: Record) -> Iterator[Record]:
        """Yield the record, if it passes all conditions."""
        self._note_fields(record)
        for condition in self.conditions:
            if not condition.passes(record):
                return
        yield record

    def change(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the sampled or first records, joined and changed, then report what was odd."""
        for record in self._limit(records):
            for partners in self.joins:
                joined = partners.join(record)
                self._without_partner[partners.path] += joined is None
                record = joined or record
            self._note_fields(record)
            yield self.changes.apply(record)
        for path, count in (+self._without_partner).items():
            say(f"{format_count(count, 'record')} without a partner in {path}")
        for name in self._missing_fields if self._first else ():
            hint = guess(name, self._first)
            say(f'no record has the field "{name}"; {hint}the first has: {", ".join(self._first)}')

    def _note_fields(self, record: Record) -> None:
        """Mark the record's fields as seen."""
        if self._missing_fields:
            self._first = self._first or record
            for name in [
                name for name in self._missing_fields if lookup(record, name) is not ABSENT
            ]:
                del self._missing_fields[name]

    def _limit(self, records: Iterable[Record]) -> Iterable[Record]:
        if self.settings.head:
            return islice(records, self.settings.head)
        if count := self.settings.sample:
            drawn = heapq.nsmallest(count, enumerate(records), lambda row: self._draw_key(row[1]))
            return (record for _, record in sorted(drawn, key=itemgetter(0)))
        return records

    def _draw_key(self, record: Record) -> tuple[int, bytes]:
        """Return the sort key of the draw; records with the same id are drawn by content."""
        content = dump(record)
        name = identity(record, "id")
        drawn_by = content.decode() if name is None else name
        return key(self.settings.seed, "select", drawn_by), content


COMMAND = Command(
    select,
    Settings,
    also=(Options,),
    stage=select,
    numbered=False,
    reads="any; `id` for {in_}, {not_in}, {join}, {sample}",
    writes="the remaining fields; new ones with {join}, {rename}, {set}",
    examples="""
structkit select functions.jsonl --where language=python --sample 2 --fields id,language
structkit select pages.jsonl --head 3 -o few.jsonl
structkit select pages.jsonl --not-in few.jsonl | head -n 1
""",
)
