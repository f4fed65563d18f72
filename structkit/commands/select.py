"""Choose records, join them, and change their fields."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from structkit.errors import UserError, flag, guess
from structkit.progress import say
from structkit.records.fields import ABSENT, Changes, Condition, lookup, plain
from structkit.records.jsonl import Record, Records
from structkit.records.lines import Lines
from structkit.records.output import dump
from structkit.records.stream import Options, Stream
from structkit.seeds import key
from structkit.settings import Command, seed_setting, setting


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Choose records, join them with others, and choose, rename and set their fields.

    The flags are applied in the order of this list. Records without an id get none.
    """

    where: tuple[str, ...] = setting(
        (),
        "Choose records whose field is VALUE (FIELD!=VALUE: is not, FIELD~REGEX: matches, "
        "FIELD!~REGEX: does not match); all must hold. In a list one item suffices; a.b is the "
        "field b of the object a.",
        metavar="FIELD=VALUE",
    )
    in_: tuple[str, ...] = setting(
        (), "Choose records whose id occurs in this file.", metavar="FILE", reads=True
    )
    not_in: tuple[str, ...] = setting(
        (), "Choose records whose id does not occur in it.", metavar="FILE", reads=True
    )
    head: int | None = setting(
        None, "Only the first N, then stop reading.", metavar="N", low=1, excludes="sample"
    )
    sample: int | None = setting(
        None,
        "Only N, drawn by seed and id: the same ones in any order of the input.",
        metavar="N",
        low=1,
    )
    join: tuple[str, ...] = setting(
        (),
        "Add the fields that this file's record with the same id has and ours lacks.",
        metavar="FILE",
        reads=True,
    )
    on: str | None = setting(
        None,
        "--in, --not-in, --join: compare this field (default: id); OURS=THEIRS if it has another "
        "name in the file.",
        metavar="FIELD",
        requires=("in_", "not_in", "join"),
    )
    strip: tuple[str, ...] = setting(
        (), "Cut what matches out of the field's text.", metavar="FIELD=REGEX"
    )
    fields: str | None = setting(None, "Keep these fields only, in this order.", metavar="FIELD,…")
    rename: tuple[str, ...] = setting((), "Give a field another name.", metavar="OLD=NEW")
    set: tuple[str, ...] = setting(
        (), "Give a field this text; FIELD:=JSON: this JSON value.", metavar="FIELD=TEXT"
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        self.conditions()
        self.changes()
        if self.on is not None and self.on.startswith("="):
            problem = f"{flag('on', self.on)} names no field"
            raise UserError(problem, "write FIELD or FIELD=THEIRS", status=2)

    def conditions(self) -> list[Condition]:
        """What fields must hold."""
        return [Condition.parse(text) for text in self.where]

    def changes(self) -> Changes:
        """What becomes of the fields."""
        return Changes.parse(self.strip, self.fields, self.rename, self.set)


def select(records: Iterable[Record], settings: Settings) -> Iterator[Record]:
    """The chosen records, joined and changed.

    `head` takes the first that pass, `sample` draws by (seed, id), the same records in any order
    of the input; a record without an id is drawn by its content. The sample and the joined files
    are held in memory.

    >>> records = [{"id": "1", "kind": "title"}, {"id": "2", "kind": "lead"}]
    >>> list(select(records, Settings(where=("kind!=title",))))
    [{'id': '2', 'kind': 'lead'}]
    """
    selection = Selection(settings)
    return selection.changed(selection.chosen(records))


@dataclass(frozen=True)
class Partners:
    """The records of another file, found by a field that ours has.

    >>> partners = Partners("titles.jsonl", "doc_id", {"d1": {"id": "d1", "title": "Tea"}})
    >>> partners.joined({"id": "q1", "doc_id": "d1"})
    {'id': 'q1', 'doc_id': 'd1', 'title': 'Tea'}
    """

    path: str
    field: str
    records: dict[str, Record]

    @classmethod
    def read(cls, path: str, on: str, *, whole: bool = True) -> Partners:
        """The records of a file (without `whole`, only their ids); `on`: a field or OURS=THEIRS."""
        ours, _, theirs = on.partition("=")
        theirs = theirs or ours
        of_values: dict[str, Record] = {}
        records = Records(Lines([path]), numbered=False)
        for record in records:
            name = identity(record, theirs)
            if name is None:
                raise records.place(
                    UserError(
                        f'field "{theirs}" is missing, or neither text nor number',
                        f"name the field that matches our {ours}: {flag('on', f'{ours}=FIELD')}",
                    )
                )
            if whole and name in of_values:
                raise records.place(
                    UserError(
                        f'{theirs} "{name}" occurs twice',
                        f"keep one of each in the file of {flag('join')}",
                    )
                )
            of_values[name] = record if whole else {}
        return cls(path, ours, of_values)

    def joined(self, record: Record) -> Record | None:
        """The record with the fields of its partner that it lacks; None without a partner."""
        name = identity(record, self.field)
        partner = None if name is None else self.records.get(name)
        if partner is None:
            return None
        return record | {name: value for name, value in partner.items() if name not in record}


@dataclass(frozen=True)
class Within:
    """Whether a record has a partner; one without the field never passes."""

    partners: Partners
    wanted: bool = True

    @property
    def field(self) -> str:
        return self.partners.field

    def passes(self, record: Record) -> bool:
        name = identity(record, self.field)
        return name is not None and (name in self.partners.records) == self.wanted


def identity(record: Record, field: str) -> str | None:
    """The value of a field as text, if it is a text or a number."""
    value = lookup(record, field)
    return plain(value) if isinstance(value, str | int | float) else None


@dataclass
class Unseen:
    """Requested fields that no record has had so far."""

    fields: list[str]
    first: Record | None = None

    def look(self, record: Record) -> None:
        """Forget the fields that the record has."""
        if self.fields:
            self.first = record if self.first is None else self.first
            self.fields = [name for name in self.fields if lookup(record, name) is ABSENT]

    def tell(self) -> None:
        """One line for people for each, if there were records."""
        for name in dict.fromkeys(self.fields) if self.first is not None else ():
            known = ", ".join(self.first or ()) or "none"
            hint = guess(name, self.first or ())
            say(f'no record has the field "{name}"; {hint}the first has: {known}')


class Selection:
    """Which records are chosen, and what becomes of them; what was odd is told at the end."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.changes = settings, settings.changes()
        on = settings.on or "id"
        files = [*((path, True) for path in settings.in_)]
        files += ((path, False) for path in settings.not_in)
        within = [Within(Partners.read(path, on, whole=False), wanted) for path, wanted in files]
        self.conditions: list[Condition | Within] = [*settings.conditions(), *within]
        self.joins = [Partners.read(path, on) for path in settings.join]
        self._alone: Counter[str] = Counter()
        names = [*(each.field for each in self.conditions), *(each.field for each in self.joins)]
        self._asked, self._changed = Unseen(names), Unseen(self.changes.names)

    def chosen(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records that pass all conditions."""
        for record in records:
            self._asked.look(record)
            if all(condition.passes(record) for condition in self.conditions):
                yield record

    def changed(self, records: Iterable[Record]) -> Iterator[Record]:
        """The wanted number of chosen records, joined and changed; then reports what was odd."""
        for record in self._counted(records):
            for partners in self.joins:
                joined = partners.joined(record)
                self._alone[partners.path] += joined is None
                record = joined or record
            self._changed.look(record)
            yield self.changes.made(record)
        for path, count in (+self._alone).items():
            say(f"{count:,} record{'s' * (count > 1)} without a partner in {path}")
        self._asked.tell()
        self._changed.tell()

    def _counted(self, records: Iterable[Record]) -> Iterable[Record]:
        if self.settings.head:
            return islice(records, self.settings.head)
        if count := self.settings.sample:
            drawn = heapq.nsmallest(count, enumerate(records), lambda each: self._lot(each[1]))
            return (record for _, record in sorted(drawn, key=lambda each: each[0]))
        return records

    def _lot(self, record: Record) -> tuple[int, bytes]:
        """The sort key of the draw; between records with the same id the content decides."""
        content = dump(record)
        name = identity(record, "id")
        return key(
            self.settings.seed, "select", content.decode() if name is None else name
        ), content


def _main(settings: Settings, options: Options) -> None:
    if options.shard is not None and (settings.head or settings.sample):
        problem = f"{flag('head')} and {flag('sample')} need the whole input"
        remedy = "shard another stage"
        raise UserError(f"{problem}, {flag('shard')} gives a part of it", remedy, status=2)
    stream = Stream.of(options, settings, numbered=False)
    selection = Selection(settings)
    stream.run(selection.chosen, selection.changed, label="select")


COMMAND = Command(
    select,
    Settings,
    _main,
    also=(Options,),
    numbered=False,
    reads="any; `id` for --in, --not-in, --join, --sample",
    writes="those that are left; with --join, --rename, --set: new ones",
    examples="""
structkit select functions.jsonl --where language=python --sample 2 --fields id,language
structkit select pages.jsonl --head 3 -o few.jsonl
structkit select pages.jsonl --not-in few.jsonl | head -n 1
""",
)
