"""The definitions of a symbol, and the lines of code that use it.

Tests: tests/asking/test_uses.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import tree_sitter

from structkit.asking.folder import Folder
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.searching.hits import Hit
from structkit.searching.kinds import kind_of, kind_weights
from structkit.searching.words import SEPARATOR, words
from structkit.structure.code.languages import outline_of
from structkit.structure.code.outline import Definition

# leaves of syntax trees that are no names, though they may be one word
TEXTS = re.compile(r"comment|string|content|fragment|text|heredoc|regex|char")
DEFINES, USES = 2.0, 1.0  # scores


def uses(folder: Folder, symbol: str, chosen: Floats) -> list[tuple[Hit, Record]]:
    """Return the definitions of a symbol, then each line of code that uses its name.

    `chosen` is the mask of passages to look at, (passages,). Names in comments and strings are no
    uses. Each record has the `symbol` around its `line`.
    """
    name = SEPARATOR.split(symbol)[-1]
    scores = folder.words.scores(words(name)) * chosen
    found: list[tuple[float, Record]] = []
    for number in np.unique(folder.numbers[scores > 0]).tolist():
        first, after = np.searchsorted(folder.numbers, [number, number + 1]).tolist()
        records = [*folder.records(range(first, after)).values()]
        if any(name in record.get("code", "") for record in records):
            try:
                found += _of_file(records, symbol, name)
            except UserError as error:
                say(str(error.at(records[0]["path"])))
    weights = kind_weights("", None)
    found.sort(key=lambda each: (-each[0], -weights[kind_of(each[1]["path"])]))
    return [(Hit(record["id"], score), record) for score, record in found]


def _of_file(records: list[Record], symbol: str, name: str) -> Iterator[tuple[float, Record]]:
    """Yield the definitions and the uses in a file, whose passages are given, with their scores."""
    path, language = records[0]["path"], records[0]["language"]
    outline = outline_of(language)
    if outline is None:
        return
    rows = [""] * max(record["lines"][1] for record in records)
    for record in records:
        code = re.split(r"\r\n|\r|\n", record["code"])
        rows[record["lines"][0] - 1 : record["lines"][0] - 1 + len(code)] = code
    text = "\n".join(rows)
    data = text.encode("utf-8", "replace")
    program = outline.parse(text, data)
    every = program.definitions

    def found(top: int, row: int, end: int, around: Definition | None) -> Record:
        inside = {"symbol": around.path} if around else {}
        return {
            "id": f"{path}#L{row + 1}",
            "path": path,
            "language": language,
            "line": row + 1,
            "lines": [top + 1, end + 1],
            **inside,
            "code": "\n".join(rows[top : end + 1]),
        }

    asked = [part for part in SEPARATOR.split(symbol) if part]
    own = [each for each in every if SEPARATOR.split(each.path)[-len(asked) :] == asked]
    for each in own:
        yield DEFINES, found(each.top, each.signature, each.end_row, each)
    signatures = {each.signature for each in every if each.name == name}
    for row in dict.fromkeys(_rows(program.tree.root_node, data, name)):
        if row in signatures:
            continue
        around = [each for each in every if each.top <= row <= each.end_row]
        yield USES, found(row, row, row, around[-1] if around else None)


def _rows(root: tree_sitter.Node, data: bytes, name: str) -> Iterator[int]:
    """Yield the row of each leaf of a syntax tree that is the name."""
    own = name.encode()
    for match in re.finditer(rb"(?<![A-Za-z0-9_])%b(?![A-Za-z0-9_])" % re.escape(own), data):
        node = root.descendant_for_byte_range(*match.span())
        if node and match.span() == node.byte_range and not TEXTS.search(node.type):
            yield node.start_point.row
