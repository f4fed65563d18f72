"""CodeSearchNet's functions: fields named as in its files, and as on the hub.

Tests: tests/commands/test_convert.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from structkit.formats.interchange import Fields, Format, Part, Parts, Row
from structkit.records.jsonl import Record

# names on the Hugging Face Hub, by the names in the files, which are ours
ON_HUB = {
    "repo": "repository_name",
    "path": "func_path_in_repository",
    "func_name": "func_name",
    "original_string": "whole_func_string",
    "language": "language",
    "code": "func_code_string",
    "code_tokens": "func_code_tokens",
    "docstring": "func_documentation_string",
    "docstring_tokens": "func_documentation_tokens",
    "sha": "",
    "url": "func_code_url",
    "partition": "split_name",
}
HUB = {ours: theirs for ours, theirs in ON_HUB.items() if theirs}
FILES = {name: name for name in ON_HUB}


def read_function(row: Fields) -> Record:
    """Read a function from a row with either set of names."""
    ours = {theirs: name for name, theirs in HUB.items()}
    record = Fields((ours.get(name, name), value) for name, value in row.items())
    return {"code": record.pop_field("code")} | record


def function_row(record: Fields, names: Mapping[str, str]) -> Row:
    """Return the row of a function: its fields under these names and in their order."""
    row = {names["code"]: record.pop_field("code")} | record.move(names)
    return {name: row[name] for name in names.values() if name in row}


class FunctionFormat(Format):
    """Functions in files: the field names that these have, and their usual names by split."""

    names: ClassVar[Mapping[str, str]]
    files: ClassVar[tuple[str, ...]]

    def parts(self, split: str) -> Parts:
        write = partial(function_row, names=self.names)
        files = tuple(name.format(split) for name in self.files)
        return {"corpus": Part(files, read_function, write)}
