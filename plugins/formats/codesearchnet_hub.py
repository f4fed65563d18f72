"""CodeSearchNet with the names that the Hugging Face hub gives its columns."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import HUB, Options, Part, Parts, Row, move, take
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Functions."""

    def parts(self, options: Options) -> Parts:
        files = (f"{options.split}.jsonl", f"{options.split}*.parquet", "*.jsonl", "*.parquet")
        return {"corpus": Part(files, read_function, write_function)}


def read_function(row: Row) -> Record:
    """A function."""
    found = {HUB.get(name, name): value for name, value in row.items()}
    return {"code": take(found, "code")} | found


def write_function(record: Record) -> Row:
    """A row with the hub's names, those that there are."""
    row = {"func_code_string": take(record, "code")}
    row |= move(record, {ours: theirs for theirs, ours in HUB.items()})
    return {name: row[name] for name in HUB if name in row}
