"""CodeSearchNet: functions with their documentation; reads the hub's names too, writes raw ones."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import CODESEARCHNET, HUB, Options, Part, Parts, Row, move, take
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Functions."""

    def parts(self, options: Options) -> Parts:
        files = (f"{options.split}.jsonl", f"*_{options.split}_*.jsonl.gz", "*.jsonl", "*.parquet")
        return {"corpus": Part(files, read_function, write_function)}


def read_function(row: Row) -> Record:
    """A function: a code document has CodeSearchNet's own names."""
    found = {HUB.get(name, name): value for name, value in row.items()}
    return {"code": take(found, "code")} | found


def write_function(record: Record) -> Row:
    """A row with raw names, those that there are."""
    found = {"code": take(record, "code")}
    found |= move(record, {name: name for name in CODESEARCHNET})
    return {name: found[name] for name in CODESEARCHNET if name in found}
