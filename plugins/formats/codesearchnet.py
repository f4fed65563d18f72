"""CodeSearchNet: functions with their documentation; reads the hub's names too, writes raw ones."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.codesearchnet import FILES, function_row, read_function
from structkit.formats.interchange import Options, Part, Parts, Row
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Functions."""

    def parts(self, options: Options) -> Parts:
        files = (f"{options.split}.jsonl", f"*_{options.split}_*.jsonl.gz", "*.jsonl", "*.parquet")
        return {"corpus": Part(files, read_function, write_function)}


def write_function(record: Record) -> Row:
    """A row with raw names, those that there are."""
    return function_row(record, FILES)
