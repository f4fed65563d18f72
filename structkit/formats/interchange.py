"""What other tools' formats are made of: parts, their files, and fields of records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from structkit.errors import MEND, UserError, missing, unknown
from structkit.formats.row_output import (
    ParquetOutput,
    RowOutput,
    column_output,
    delimited_output,
    json_output,
)
from structkit.formats.rows import (
    BracketRows,
    ColumnRows,
    DelimitedRows,
    FileRows,
    JsonRows,
    ParagraphRows,
    ParquetRows,
)
from structkit.formats.rows import Row as Row
from structkit.records.jsonl import Record, Rows, json_kind
from structkit.registry import Contract
from structkit.settings import setting

REQUIRED: Any = object()


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user says about formats."""

    split: str = setting("test", "The split in file names.")
    gains: str | None = setting(None, "Gains of the labels of esci and wands, as in `score`.")


@dataclass(frozen=True)
class Part:
    """One kind of content of a format.

    `files` are its usual names in a folder, of which the first is written. `read` turns a row into
    a record (or several, or none). `write` turns a record into a row and removes from it what the
    row holds: what is left over is lost. A part without `read` or `write` cannot be read or
    written. `form` is `table` (JSON lines; .csv, .tsv, .parquet by name), `tab`, `columns`,
    `brackets` or `paragraphs`; `names` are its columns, with the types that Parquet needs. With
    `group`, `write` gets all adjacent records that have the same value there.
    """

    files: tuple[str, ...]
    read: Callable[[Row], Record | list[Record]] | None = None
    write: Callable[..., Row] | None = None
    form: str = "table"
    names: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    as_is: bool = False  # nulls of rows stay, and a record without an id does not get its number
    by_name: bool = False  # not converted with its folder, only if --part names it

    def rows(self, files: Sequence[str]) -> FileRows:
        """The rows of files of this part."""
        if self.form == "columns":
            return ColumnRows(files, tuple(self.names))
        if self.form == "brackets":
            return BracketRows(files)
        if self.form == "paragraphs":
            return ParagraphRows(files)
        ending = _ending(files[0]) if files else ""
        if self.form == "tab" or ending == "tsv":
            return DelimitedRows(files, "\t")
        if ending == "csv":
            return DelimitedRows(files, ",")
        if ending == "parquet":
            return ParquetRows(files)
        return JsonRows(files)

    def output(self, path: str) -> RowOutput:
        """A file for rows of this part."""
        if self.form in TEXTS:
            return RowOutput(path, TEXTS[self.form])
        if self.form == "columns":
            return column_output(path, tuple(self.names))
        ending = _ending(path)
        if self.form == "tab" or ending == "tsv":
            return delimited_output(path, "\t", tuple(self.names))
        if ending == "csv":
            return delimited_output(path, ",", tuple(self.names))
        if ending == "parquet":
            return ParquetOutput(path, self.names)
        return json_output(path)


# how a row of a form that is plain text is written
TEXTS: dict[str, Callable[[Row], bytes]] = {
    "brackets": lambda row: row["tree"].encode() + b"\n",
    "paragraphs": lambda row: "\n".join((*row["lines"], "", "")).encode(),
}

Parts: TypeAlias = "dict[str, Part]"


class Format(Contract):
    """A file of formats/: what another tool reads and writes, for `convert`."""

    @abstractmethod
    def parts(self, options: Options) -> Parts:
        """Its parts by name, the main one first: what its rows hold and where they are."""


def _ending(path: str) -> str:
    return path.removesuffix(".gz").rpartition(".")[2].lower()


def read_records(part: Part, rows: Rows) -> Iterator[Record]:
    """The records that rows of a part hold."""
    assert part.read
    for row in rows:
        if None in row.values() and not part.as_is:
            row = {name: value for name, value in row.items() if value is not None}
        given = part.read(row)
        if isinstance(given, list):
            yield from given
        else:
            yield given


def take(record: Record, *names: str, kind: type = str, default: Any = REQUIRED) -> Any:
    """Take a field out of a record: the first of the names that it has; null counts as missing.

    Errors: `UserError` where it is missing (and there is no default), or of another kind.

    >>> record = {"id": "1", "code": "x = 1"}
    >>> take(record, "text", "code"), record
    ('x = 1', {'id': '1'})
    """
    name = next((name for name in names if record.get(name) is not None), None)
    if name is None:
        for each in names:
            record.pop(each, None)
        if default is not REQUIRED:
            return default
        if len(names) == 1:
            raise missing(names[0], record)
        problem = f"the fields {', '.join(names)} are all missing"
        raise UserError(problem, f"the record has: {', '.join(record) or 'none'}")
    value = record.pop(name)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise UserError(f'field "{name}" is {json_kind(value)}, not {KINDS[kind]}', MEND)
    return value


KINDS = {str: "a string", float: "a number", list: "an array", dict: "an object", int: "a number"}


def take_id(record: Record, *names: str) -> str:
    """Take an id out of a record: a string, or a whole number as one."""
    name = next((name for name in names if record.get(name) is not None), names[0])
    if type(record.get(name)) is int:
        return str(record.pop(name))
    value: str = take(record, name)
    return value


def take_texts(record: Record, *names: str) -> list[str]:
    """Take a list of strings out of a record; a missing one is empty."""
    texts: list[str] = take(record, *names, kind=list, default=[])
    for item in texts:
        if type(item) is not str:
            raise UserError(
                f'field "{names[0]}" is an array with {json_kind(item)}', "give strings only"
            )
    return texts


def take_numbers(record: Record, *names: str) -> list[float]:
    """Take a list of numbers out of a record, at least one."""
    numbers: list[float] = take(record, *names, kind=list)
    wrong = next((item for item in numbers if type(item) not in (int, float)), 0.0)
    if wrong != 0.0 or not numbers:
        problem = "is empty" if not numbers else f"is an array with {json_kind(wrong)}"
        raise UserError(
            f'field "{names[0]}" {problem}', "give at least one number, and numbers only"
        )
    return numbers


def take_number(record: Record, name: str) -> float:
    """Take a number out of a record; text is read as one."""
    value = take_text(record, name)
    try:
        return float(value)
    except ValueError:
        raise UserError(f'field "{name}" is "{value}", not a number', MEND) from None


def take_whole(record: Record, name: str) -> int:
    """Take a whole number out of a record; text is read as one."""
    value = take_text(record, name)
    try:
        if int(float(value)) == float(value):
            return int(float(value)) if "." in value or "e" in value.lower() else int(value)
    except (ValueError, OverflowError):
        pass
    raise UserError(f'field "{name}" is {value}, not a whole number', MEND)


def take_text(record: Record, name: str) -> str:
    """Take a string or a number out of a record, as text."""
    if type(record.get(name)) in (int, float):
        return repr(record.pop(name))
    value: str = take(record, name)
    return value


def move(record: Record, names: Mapping[str, str]) -> Record:
    """Move existing fields to other names, in that order; the others stay.

    >>> record = {"b": 1, "c": 2}
    >>> move(record, {"a": "x", "b": "y"}), record
    ({'y': 1}, {'c': 2})
    """
    return {new: record.pop(old) for old, new in names.items() if record.get(old) is not None}


@dataclass(frozen=True)
class Labels:
    """Judgements in words besides numbers: what each label is worth."""

    gains: Mapping[str, int]
    words: Mapping[str, str] = field(default_factory=dict)

    def read(self, label: str) -> Record:
        """Label and relevance of a judgement."""
        label = self.words.get(label.lower(), label)
        if label not in self.gains:
            raise unknown("label", label, self.gains, status=1)
        return {"relevance": self.gains[label], "label": label}

    def take(self, record: Record) -> str:
        """Take the label out of a judgement, or the one that its relevance has."""
        label: str | None = take(record, "label", default=None)
        if label is not None:
            if record.get("relevance") == self.gains.get(label):
                record.pop("relevance", None)
            return label
        relevance = take_whole(record, "relevance")
        for name, gain in self.gains.items():
            if gain == relevance:
                return name
        known = ", ".join(f"{name} {gain}" for name, gain in self.gains.items())
        raise UserError(f"no label is worth {relevance}", f"there are: {known}; see --gains")
