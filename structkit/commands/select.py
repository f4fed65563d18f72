"""Choose records by field, by another file, by count or at random, and which fields they keep."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from structkit.errors import UserError, guess
from structkit.progress import say
from structkit.records.fields import ABSENT, Changes, Condition, lookup, plain
from structkit.records.jsonl import Lines, Record, Records
from structkit.records.output import dump
from structkit.seeds import key


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
        if not ours:
            raise UserError("--on names no field", "write FIELD or FIELD=THEIRS", status=2)
        of_values: dict[str, Record] = {}
        records = Records(Lines([path]), numbered=False)
        for record in records:
            name = identity(record, theirs)
            if name is None:
                raise records.place(
                    UserError(
                        f'field "{theirs}" is missing, or neither text nor number',
                        f"name the field that matches our {ours}: --on {ours}=FIELD",
                    )
                )
            if whole and name in of_values:
                raise records.place(
                    UserError(
                        f'{theirs} "{name}" occurs twice', "keep one of each in the file of --join"
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


@dataclass
class Selection:
    """Which records are chosen, and what becomes of them: conditions, a count, joins, changes.

    `head` takes the first that pass, `sample` draws by (seed, id), the same records in any order
    of the input; a record without an id is drawn by its content. The sample and the joined files
    are held in memory.
    """

    conditions: Sequence[Condition | Within] = ()
    head: int | None = None
    sample: int | None = None
    seed: int = 0
    joins: Sequence[Partners] = ()
    changes: Changes = field(default_factory=Changes)
    sharded: bool = False

    def __post_init__(self) -> None:
        if self.head and self.sample:
            raise UserError(
                "--head and --sample exclude each other", "pipe one select into another", status=2
            )
        if self.sharded and (self.head or self.sample):
            raise UserError(
                "--head and --sample need the whole input, --shard gives a part of it",
                "shard another stage",
                status=2,
            )
        self._alone: Counter[str] = Counter()
        names = [*(each.field for each in self.conditions), *(each.field for each in self.joins)]
        self._asked, self._changed = Unseen(names), Unseen(self.changes.names)

    def beside(
        self,
        within: Sequence[str] = (),
        without: Sequence[str] = (),
        join: Sequence[str] = (),
        on: str | None = None,
    ) -> Selection:
        """The same with other files, read: to occur in, not to occur in, to join."""
        if on is not None and not (within or without or join):
            raise UserError("--on needs --in, --not-in or --join", "add one", status=2)
        on = "id" if on is None else on
        files = [(path, True) for path in within] + [(path, False) for path in without]
        held = [Within(Partners.read(path, on, whole=False), wanted) for path, wanted in files]
        joins = [Partners.read(path, on) for path in join]
        return replace(self, conditions=[*self.conditions, *held], joins=joins)

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
        if self.head:
            return islice(records, self.head)
        if self.sample:
            drawn = heapq.nsmallest(
                self.sample, enumerate(records), lambda each: self._lot(each[1])
            )
            return (record for _, record in sorted(drawn, key=lambda each: each[0]))
        return records

    def _lot(self, record: Record) -> tuple[int, bytes]:
        """The sort key of the draw; between records with the same id the content decides."""
        content = dump(record)
        name = identity(record, "id")
        return key(self.seed, "select", content.decode() if name is None else name), content


def select(records: Iterable[Record], selection: Selection) -> Iterator[Record]:
    """The chosen records, changed.

    >>> records = [{"id": "1", "kind": "title"}, {"id": "2", "kind": "lead"}]
    >>> list(select(records, Selection([Condition.parse("kind!=title")])))
    [{'id': '2', 'kind': 'lead'}]
    """
    return selection.changed(selection.chosen(records))
