"""Building blocks of other tools' formats: parts, their files, and fields of records."""

from __future__ import annotations

import io
import math
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from structkit import registry
from structkit.errors import RECORD_REMEDY, UserError, flag, missing, wrong_usage
from structkit.formats.rows import (
    BracketRows,
    ColumnRows,
    DelimitedRows,
    JsonRows,
    ParquetOutput,
    RowOutput,
    column_output,
    delimited_output,
)
from structkit.formats.rows import Row as Row
from structkit.progress import say
from structkit.records.fields import DOCUMENT_FIELDS
from structkit.records.jsonl import JSON_NAMES, Record, Records, input_name, json_kind
from structkit.records.output import dump

REQUIRED: Any = object()
OUR_FORMAT = "structkit"
OUR_PARTS = "corpus queries qrels run examples pairs embeddings trees sentences scores".split()
# the fields of records of a kind; a query alone is a query, everything else is a document
FIELDS_OF_KINDS = {
    "embeddings": ("embedding",),
    "qrels": ("query_id", "doc_id", "relevance"),
    "run": ("query_id", "doc_id", "score"),
    "pairs": ("text_a", "text_b"),
    "examples": ("query", "positive"),
    "sentences": ("words",),
    "trees": ("tree",),
    "scores": ("run", "queries", "missing"),
}
# a query with one of these is a document; a `text` may be the query's own
DOCUMENT_ONLY_FIELDS = {*DOCUMENT_FIELDS, "product", "title", "docstring"} - {"text"}


class Fields(dict[str, Any]):
    """The fields of a row or a record, to take out one after the other.

    Errors: `UserError` where one is missing (and there is no default), or of another kind.
    """

    def pop_field(self, *names: str, kind: type = str, default: Any = REQUIRED) -> Any:
        """Take the first of these fields that there is; null counts as missing.

        >>> record = Fields(id="1", code="x = 1")
        >>> record.pop_field("text", "code"), record
        ('x = 1', {'id': '1'})
        """
        for name in names:
            value = self.pop(name, None)
            if kind is float and type(value) is int:
                value = float(value)
            if type(value) is kind:
                return value
            if value is not None:
                wanted = JSON_NAMES[kind.__name__]
                raise UserError(
                    f'field "{name}" is {json_kind(value)}, not a JSON {wanted}', RECORD_REMEDY
                )
        if default is not REQUIRED:
            return default
        raise missing('" or "'.join(names), self)

    def pop_texts(self, name: str) -> list[str]:
        """Take a list of strings; a missing one is empty."""
        texts: list[str] = self.pop_field(name, kind=list, default=[])
        for item in texts:
            if type(item) is not str:
                raise UserError(
                    f'field "{name}" is an array with {json_kind(item)}', "give strings only"
                )
        return texts

    def pop_number(self, name: str) -> float:
        """Take a finite number; text is read as one."""
        value = self.pop_text(name)
        with suppress(ValueError):
            if "_" not in value and math.isfinite(number := float(value)):
                return number
        raise UserError(f'field "{name}" is {value}, not a finite number', RECORD_REMEDY)

    def pop_whole(self, name: str) -> int:
        """Take a whole number; text is read as one."""
        value = self.pop_text(name)
        for read in (int, float):  # 1.0 is a whole number, too
            with suppress(ValueError, OverflowError):
                number = read(value)
                if "_" not in value and number == int(number):
                    return int(number)
        raise UserError(f'field "{name}" is {value}, not a whole number', RECORD_REMEDY)

    def pop_text(self, name: str) -> str:
        """Take a string or a number, as text."""
        is_number = type(self.get(name)) in (int, float)
        return repr(self.pop(name)) if is_number else str(self.pop_field(name))

    def move(self, names: Mapping[str, str]) -> Record:
        """Move existing fields to other names, in that order; the others stay.

        >>> record = Fields(b=1, c=2)
        >>> record.move({"a": "x", "b": "y"}), record
        ({'y': 1}, {'c': 2})
        """
        return {new: self.pop(old) for old, new in names.items() if self.get(old) is not None}


# the fields of judgements and hits, in the order of our records
FIELD_TYPES = {"query_id": str, "doc_id": str, "relevance": int, "score": float, "rank": int}
POPS = {str: Fields.pop_text, int: Fields.pop_whole, float: Fields.pop_number}
MAX_EXACT_SUM = 2.0**63  # JSON may have rounded an integer to a larger float
Columns: TypeAlias = "dict[str, Sequence[Any]]"  # the values of each field


@dataclass(frozen=True)
class CellForm:
    """Lines of judgements or hits: each cell is a field of a record, or a usual text.

    `columns` has the field or the usual text by the column's name. Without a delimiter, white space
    separates the cells.
    """

    columns: Mapping[str, str]
    delimiter: str | None = None

    def part(self, *files: str) -> Part:
        """Return the part that has these lines in its files."""
        form = "tsv" if self.delimiter else "columns"
        return Part(files, self.read, self.write, form, self.columns, lines=self)

    def read(self, row: Fields) -> Record:
        """Return the record of a row; it keeps what is not usual, and other columns."""
        names = {field: name for name, field in self.columns.items()}
        kinds = FIELD_TYPES.items()
        record = {field: POPS[kind](row, names[field]) for field, kind in kinds if field in names}
        usual = self.columns
        kept = {name: cell for name, cell in row.items() if usual.get(name) not in (name, cell)}
        return record | kept

    def write(self, record: Fields) -> Row:
        """Return the row of a record; a score has all its digits, since six of them create ties."""
        row: Row = {}
        for name, usual in self.columns.items():
            if usual == "score":
                Fields(record).pop_number(usual)
                row[name] = record.pop_text(usual)
            elif usual in FIELD_TYPES:
                row[name] = POPS[FIELD_TYPES[usual]](record, usual)
            else:
                row[name] = usual if name == usual else record.pop_field(name, default=usual)
        return row

    def read_block(self, data: bytes) -> Columns:
        """Return the columns of some lines. Errors: `ValueError` if a line is not plain."""
        text = data.decode()
        rows = (line.split(self.delimiter) for line in text.removesuffix("\n").split("\n"))
        columns = dict(zip(self.columns.values(), zip(*rows, strict=True), strict=True))
        odd = ['"' in text, "\r" in text]
        for usual, cells in columns.items():
            kind = FIELD_TYPES.get(usual)
            odd.append("" in cells or (kind is None and {*cells} != {usual}))
            odd.append(kind in (int, float) and "_" in "".join(cells))
        if any(odd):
            raise ValueError
        return {
            field: [*map(kind, columns[field])]
            for field, kind in FIELD_TYPES.items()
            if field in columns
        }

    def write_block(self, columns: Columns) -> bytes:
        """Return the lines of columns. Errors: `ValueError` if a cell is not plain."""
        ids = [*columns["query_id"], *columns["doc_id"]]
        text = " ".join(ids)
        if text.split() != ids or '"' in text:
            raise ValueError
        usual = self.columns.values()
        line = (self.delimiter or " ").join("%s" if each in columns else each for each in usual)
        rows = zip(*(columns[each] for each in usual if each in columns), strict=True)
        return "".join([f"{line}\n" % row for row in rows]).encode()


class JsonForm:
    """Lines of our own judgements or hits, with the fields in these columns."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.fields = [field for field in FIELD_TYPES if field in columns.values()]

    def read_block(self, data: bytes) -> Columns:
        """Return the columns of some lines. Errors: one has other fields."""
        records = [*map(orjson.loads, io.BytesIO(data))]
        if {*map(len, records)} != {len(self.fields)}:
            raise ValueError
        return {field: [record[field] for record in records] for field in self.fields}

    def write_block(self, columns: Columns) -> bytes:
        """Return the lines of columns."""
        lines = io.BytesIO()  # not a list: memory for many small pieces takes as long as the rest
        rows = zip(*columns.values(), strict=True)
        lines.writelines(dump(dict(zip(columns, row, strict=True))) for row in rows)
        return lines.getvalue()


def convert_block(
    data: bytes, source: CellForm | JsonForm, target: CellForm | JsonForm
) -> tuple[bytes, int]:
    r"""Return lines of one form in another, and their number; none if a line is not plain.

    >>> form = CellForm({"query_id": "query_id", "Q0": "Q0", "doc_id": "doc_id"})
    >>> convert_block(b'{"query_id":"q","doc_id":"d"}', JsonForm(form.columns), form)
    (b'q Q0 d\n', 1)
    """
    try:
        columns = source.read_block(data)
        for field, values in columns.items():
            kind = FIELD_TYPES[field]
            if {*map(type, values)} != {kind}:
                raise TypeError
            if kind is not str and not sum(map(abs, values)) < MAX_EXACT_SUM:
                raise ValueError
        return target.write_block(columns), len(columns["query_id"])
    except (ValueError, LookupError, TypeError):
        return b"", 0


@dataclass(frozen=True)
class Part:
    """One kind of content of a format.

    `files` are its standard names in a folder; the first is written. `read` turns a row into a
    record (or several, or none). `write` turns a record into a row and removes the fields that the
    row holds; the remaining ones are lost. A part without `read` or `write` cannot be read or
    written. `form` is `table` (JSON lines; .csv, .tsv, .parquet by name), `tsv`, `columns` or
    `brackets`; `names` are its columns, with the types that Parquet needs. With
    `group`, `write` gets all adjacent records that have the same value there.
    """

    files: tuple[str, ...]
    read: Callable[[Fields], Record | list[Record]] | None = None
    write: Callable[..., Row] | None = None
    form: str = "table"
    names: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    ordered: bool = False  # the order of columns counts, also of the empty ones in a row
    as_is: bool = False  # rows are records: nulls stay, and one without an id gets no number
    lines: CellForm | None = None  # of judgements or hits, which are converted many at a time

    def form_of(self, path: str) -> str:
        """Return the form of a file: the part's or, for a table, the one of its name."""
        ending = path.removesuffix(".gz").rpartition(".")[2].lower()
        return ending if self.form == "table" and ending in TABLE_ENDINGS else self.form

    def block_form(self, path: str, other: Part) -> CellForm | JsonForm | None:
        """Return the form of blocks of lines that are converted from or to another part, if any."""
        if self.as_is and other.lines and self.form_of(path) == "table":
            return JsonForm(other.lines.columns)
        return self.lines

    def rows(self, files: Sequence[str]) -> Records:
        """Return the rows of files of this part."""
        match form := self.form_of(files[0] if files else ""):
            case "columns":
                return ColumnRows(files, tuple(self.names))
            case "brackets":
                return BracketRows(files)
            case "tsv" | "csv":
                return DelimitedRows(files, DELIMITERS[form], self.ordered)
        return JsonRows.read(files)  # Parquet too: it is read as lines

    def output(self, path: str) -> RowOutput:
        """Open a file for rows of this part."""
        match form := self.form_of(path):
            case "columns":
                return column_output(path, tuple(self.names))
            case "brackets":
                return RowOutput(path, lambda row: row["tree"].encode() + b"\n")
            case "tsv" | "csv":
                return delimited_output(path, DELIMITERS[form], tuple(self.names))
            case "parquet":
                return ParquetOutput(path, self.names)
        return RowOutput(path, dump)


TABLE_ENDINGS = ("csv", "tsv", "parquet")  # of tables that are no JSON lines
DELIMITERS = {"tsv": "\t", "csv": ","}
Parts: TypeAlias = "dict[str, Part]"


class Format(registry.Contract):
    """Contract of a file of formats/, another tool's format for `convert`."""

    @abstractmethod
    def parts(self, split: str) -> Parts:
        """Return its parts by name, the main one first, with their files of a split."""


def records_of_row(part: Part, row: Row) -> list[Record]:
    """Return the records in a row of a part."""
    assert part.read
    if part.as_is:
        return [row]
    if None in row.values() and not part.ordered:
        row = {name: value for name, value in row.items() if value is not None}
    records = part.read(Fields(row))
    return records if isinstance(records, list) else [records]


@dataclass(frozen=True)
class Labels:
    """Judgements in words, with numbers: the gain of each label."""

    gains: Mapping[str, int]
    words: Mapping[str, str] = field(default_factory=dict)

    def read(self, label: str) -> Record:
        """Return label and relevance of a judgement."""
        label = self.words.get(label.lower(), label)
        if label not in self.gains:
            raise UserError(f'label "{label}" has no gain', f"available: {', '.join(self.gains)}")
        return {"relevance": self.gains[label], "label": label}

    def pop_label(self, record: Fields) -> str:
        """Remove and return the label of a judgement, or the label of its relevance."""
        label: str | None = record.pop_field("label", default=None)
        if label is not None:
            if record.get("relevance") == self.gains.get(label):
                record.pop("relevance", None)
            return label
        relevance = record.pop_whole("relevance")
        for name, gain in self.gains.items():
            if gain == relevance:
                return name
        known = ", ".join(f"{name} {gain}" for name, gain in self.gains.items())
        raise UserError(f"no label is worth {relevance}", f"available: {known}")


@dataclass(frozen=True)
class FormatParts:
    """A format with its parts, the main one first."""

    name: str
    parts: Parts

    @classmethod
    def load(cls, name: str, split: str) -> FormatParts:
        """Load the format of a plugin, or our own, which holds everything."""
        if name == OUR_FORMAT:
            parts = {kind: Part((f"{kind}.jsonl",), dict, dict, as_is=True) for kind in OUR_PARTS}
            return cls(OUR_FORMAT, parts)
        kind: type[Format] = registry.load("format", name)
        return cls(name, kind().parts(split))

    def inside(self, folder: str, chosen: str | None = None) -> dict[str, list[str]]:
        """Return the parts of a folder, or the chosen one, with their files."""
        files_of_parts = {}
        for name, part in self.parts.items():
            if chosen in (None, name):
                if files := _part_files(Path(folder), part):
                    files_of_parts[name] = files
                elif chosen:
                    raise _missing_part(Path(folder), name, part)
                elif self.name != OUR_FORMAT:
                    say(str(_missing_part(Path(folder), name, part)))
        if not files_of_parts:
            standard = ", ".join(dict.fromkeys(part.files[0] for part in self.parts.values()))
            raise UserError(f"holds none of {standard}", f"name files and {flag('part')}").at(
                folder
            )
        return files_of_parts

    def open(self, files: Sequence[str], known: Sequence[str]) -> tuple[str, Records]:
        """Return the part that files hold, and its unread rows.

        Errors: `UserError` if, in another format, the name matches none of the parts in `known`.
        """
        if self.name != OUR_FORMAT:
            name = self._part_of(files, known)
            return name, self.parts[name].rows(files)
        rows = self.parts[OUR_PARTS[0]].rows(files)  # all of ours are tables
        first = rows.first() if isinstance(rows, JsonRows) else {}
        kind = kind_of_records(first, _file_name(files))
        return kind if first or kind in known else known[0], rows  # an empty file may be any part

    def _part_of(self, files: Sequence[str], known: Sequence[str]) -> str:
        """Return the part, one of `known`, that files hold: by name, or the only one."""
        base = _file_name(files)
        for name in known:
            if any(fnmatch(base, os.path.basename(pattern)) for pattern in self.parts[name].files):
                return name
        if len({self.parts[name].files for name in known}) == 1:
            return known[0]
        raise wrong_usage(
            f"{input_name(base)} may be any part of {self.name}",
            f"name it with {flag('part')}: {', '.join(known)}",
        )


def _file_name(files: Sequence[str]) -> str:
    """Return the name of the first file without its folder; - is stdin."""
    return os.path.basename(files[0]).removesuffix(".gz") if files else "-"


def kind_of_records(first: Record, name: str) -> str:
    """Return the kind of our own records, by the first one or, if unclear, by their file's name.

    A document and a query may have the same fields: `queries.jsonl` holds queries.
    """
    for kind, names in FIELDS_OF_KINDS.items():
        if all(name in first for name in names):
            return kind
    standard = name.partition(".")[0]
    if standard in ("corpus", "queries"):
        return standard
    return (
        "queries"
        if "query" in first and not any(map(first.get, DOCUMENT_ONLY_FIELDS))
        else "corpus"
    )


def _part_files(folder: Path, part: Part) -> list[str]:
    """Return a part's files in a folder, under its first standard name that exists."""
    for standard in part.files:
        for name in (standard, f"{standard}.gz"):
            if paths := sorted(folder.glob(name)):
                return [str(path) for path in paths]
    return []


def _missing_part(folder: Path, name: str, part: Part) -> UserError:
    """Return the error for a missing part, with a guess at the intended one."""
    standard = Path(part.files[0])
    others = sorted(path.name for path in (folder / standard.parent).glob(f"*{standard.suffix}"))
    another = f"{flag('split')} names another; available: {', '.join(others)}"
    hint = another if others else "name its folder"
    return UserError(f"has no {standard}, the file of {name}", hint).at(str(folder))
