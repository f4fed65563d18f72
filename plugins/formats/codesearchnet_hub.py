"""CodeSearchNet with the names that the Hugging Face hub gives its columns."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.codesearchnet import HUB, function_row, read_function
from structkit.formats.interchange import Options, Part, Parts, Row
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Functions."""

    def parts(self, options: Options) -> Parts:
        files = (f"{options.split}.jsonl", f"{options.split}*.parquet", "*.jsonl", "*.parquet")
        return {"corpus": Part(files, read_function, write_function)}


def write_function(record: Record) -> Row:
    """A row with the hub's names, those that there are."""
    return function_row(record, HUB)
