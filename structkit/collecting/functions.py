"""One record for each function or method of a program."""

from __future__ import annotations

from collections.abc import Iterator

from structkit.records.jsonl import Record
from structkit.structure.code.outline import Program


def functions(program: Program) -> Iterator[tuple[str, Record]]:
    """The functions of a program in its order, each with its name for an id.

    `code` is as in the file, with decorators and attributes; `docstring` is there if the program
    documents the function, inside it or in a comment before it.
    """
    for definition in program.definitions:
        if definition.kind != "function":
            continue
        code = program.data[definition.start : definition.whole.end_byte]
        record: Record = {
            "lines": [definition.row + 1, definition.end_row + 1],
            "name": definition.name,
            "scope": definition.scope,
            "code": code.decode("utf-8", "replace"),
        }
        if docstring := program.doc_comment(definition):
            record["docstring"] = docstring
        yield definition.path, record
