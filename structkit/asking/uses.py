"""The definitions of a symbol, and the lines of code that use it.

Tests: tests/asking/test_uses.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

import numpy as np
import tree_sitter

from structkit.asking.folder import Folder
from structkit.asking.path_kinds import kind_weights, path_kind
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.searching.bm25 import highest_scores
from structkit.searching.hits import Hit
from structkit.searching.words import SYMBOL_SEPARATOR, fold, folded_words
from structkit.structure.code.languages import outline_of
from structkit.structure.code.outline import Definition

# nodes of syntax trees that are no names, though they may be one word
TEXT_NODE = re.compile(r"comment|string|content|fragment|text|heredoc|regex|char")
CALL_NODE = re.compile(r"call|invocation|new_expression|object_creation")
IMPORT_NODE = re.compile(r"import|use_declaration|using_directive|include|require|use_clause")
DEFINITION_SCORE = 2.0
USE_SCORE = 1.0
MAX_SIMILAR_NAMES = 3
MIN_SIMILARITY = 0.75  # of names, as difflib has it
PASSAGES_OF_A_NAME = 5  # in which a name is looked up as it is written


def uses(folder: Folder, symbol: str, chosen: Floats) -> list[tuple[Hit, Record]]:
    """Return the definitions of a symbol, then each line of code that uses its name.

    `chosen` is the mask of passages to look at, (passages,). Names in comments and strings are no
    uses. Each record has the `symbol` around its `line`.
    """
    name = SYMBOL_SEPARATOR.split(symbol)[-1]
    scores = folder.words.scores(folded_words(name)) * chosen
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
    found.sort(key=lambda each: (-each[0], -weights[path_kind(each[1]["path"])]))
    return [(Hit(record["id"], score), record) for score, record in found]


def no_such_name(folder: Folder, symbol: str, chosen: Floats) -> UserError:
    """Return the error for a symbol that no code has, with similar names of the chosen passages."""
    name = SYMBOL_SEPARATOR.split(symbol)[-1]
    word = fold(name)
    near = {other for part, _ in folder.words.parts for other in part.beginning(word)}
    names = list[str]()
    for other in get_close_matches(word, near, MAX_SIMILAR_NAMES, MIN_SIMILARITY):
        passages = highest_scores(folder.words.scores([other]) * chosen, PASSAGES_OF_A_NAME)
        codes = [record.get("code", "") for record in folder.records(passages).values()]
        written = re.search(rf"\b{re.escape(other)}\b", "\n".join(codes), re.IGNORECASE)
        if written and written[0] != name:
            names.append(written[0])
    remedy = "write it as in the code"
    if names:
        remedy = f"did you mean {' or '.join(names)}?"
    return UserError(f"no code has the name {symbol}", remedy)


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

    def found(top: int, row: int, end: int, around: Definition | None, use: str) -> Record:
        inside = {"symbol": around.path} if around else {}
        return {
            "id": f"{path}#L{row + 1}",
            "path": path,
            "language": language,
            "line": row + 1,
            "lines": [top + 1, end + 1],
            "use": use,
            **inside,
            "code": "\n".join(rows[top : end + 1]),
        }

    asked = [part for part in SYMBOL_SEPARATOR.split(symbol) if part]
    for definition in every:
        if SYMBOL_SEPARATOR.split(definition.path)[-len(asked) :] == asked:
            lines = definition.top, definition.signature, definition.end_row
            yield DEFINITION_SCORE, found(*lines, definition, "definition")
    signatures = {definition.signature for definition in every if definition.name == name}
    use_of_row: dict[int, str] = {}  # of several on one line, the first that is more than a mention
    for row, use in _uses(program.tree.root_node, data, name):
        if row not in signatures and use_of_row.get(row, "mention") == "mention":
            use_of_row[row] = use
    for row, use in use_of_row.items():
        around = [each for each in every if each.top <= row <= each.end_row]
        yield USE_SCORE, found(row, row, row, around[-1] if around else None, use)


def _uses(root: tree_sitter.Node, data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Yield the row of each leaf of a syntax tree that is the name, and how it is used."""
    own = name.encode()
    for match in re.finditer(rb"(?<![A-Za-z0-9_])%b(?![A-Za-z0-9_])" % re.escape(own), data):
        node = root.descendant_for_byte_range(*match.span())
        if node and match.span() == node.byte_range and not TEXT_NODE.search(node.type):
            yield node.start_point.row, _use_of(node)


def _use_of(node: tree_sitter.Node) -> str:
    """Return how a name is used: in an import, as what is called, or as another mention."""
    callee, around = node, node.parent
    while around and around.end_byte == callee.end_byte and not CALL_NODE.search(around.type):
        callee, around = around, around.parent  # `a.name` of `a.name(b)`
    if around and CALL_NODE.search(around.type):
        arguments = around.child_by_field_name("arguments")
        is_argument = arguments is not None and arguments.start_byte <= node.start_byte
        if not is_argument:
            return "call"
    around = node.parent
    while around:
        if IMPORT_NODE.search(around.type):
            return "import"
        around = around.parent
    return "mention"
