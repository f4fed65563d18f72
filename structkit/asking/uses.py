"""The definitions of a symbol, and the lines of code that use it; or the names that they call.

Tests: tests/asking/test_uses.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import PurePosixPath

import numpy as np
import tree_sitter

from structkit.asking.answers import Answer
from structkit.asking.folder import Folder
from structkit.asking.path_kinds import kind_weights
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.searching.bm25 import highest_scores
from structkit.searching.hits import Hit
from structkit.searching.words import SYMBOL_SEPARATOR, fold, folded_words
from structkit.structure.code.languages import outline_of
from structkit.structure.code.outline import FUNCTION, Definition, Outline

# nodes of texts, which may look like a name
TEXT_NODE = re.compile(r"comment|string|content|fragment|text|heredoc|regex|char")
CALL_NODE = re.compile(
    r"""
    call | invo[ck]ation | new_expression | object_creation | ^command$
    # with types in brackets
    | constructor_expression | instance_expression | type_conversion
    """,
    re.VERBOSE,
)
CALLEE_FIELDS = "function method name constructor constructed_type type macro target".split()
TYPE_ARGUMENTS_NODE = re.compile(r"(?:type|template)_argument")
# some grammars read `f<T>(a)` as comparisons
COMPARISON_NODE = re.compile(r"binary|relational|comparison")
GENERIC_CALL = re.compile(rb"<(?:[\w\s,.?*:]{1,200}+|<[\w\s,.?*:<>]{1,200}?>)*+>\(")
DEFINITION_NODE = re.compile(
    r"""
    (?<! augmented_ ) (?<! operator_ ) (?<! compound_ ) assignment
    | declarat | definition | property | _item | _spec | const_ | enum | preproc_def
    """,
    re.VERBOSE,
)
DEFINED_FIELDS = ("name", "left", "declarator", "pattern")
IDENTIFIER = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*+")
IMPORT_NODE = re.compile(r"import|use_declaration|using_directive|include|require|use_clause")
DEFINITION_SCORE = 2.0
USE_SCORE = 1.0
MAX_SIMILAR_NAMES = 3
MIN_SIMILARITY = 0.75  # of names, as difflib has it
PASSAGES_OF_A_NAME = 5  # that show how a word of the index is written


def uses(folder: Folder, symbol: str, chosen: Floats) -> list[Answer]:
    """Return the definitions of a symbol, then each line of code that uses its name.

    `chosen` is the mask of passages to look at, (passages,). Names in comments and strings are no
    uses. Each record has the `symbol` around its `line`.
    """
    found = [use for file in _files_with(folder, symbol, chosen) for use in file.uses(symbol)]
    weights = kind_weights("")

    def order(answer: Answer) -> tuple[float, float]:
        hit, record = answer
        return -hit.score, -weights[folder.kind_of(record["path"])]

    return sorted(found, key=order)


def calls(folder: Folder, symbol: str, chosen: Floats) -> list[Answer]:
    """Return the first line of each name that the definitions of a symbol call.

    `chosen` is the mask of passages to look at, (passages,). Each record has the name that it
    `calls`, and the definition as its `symbol`.
    """
    return [call for file in _files_with(folder, symbol, chosen) for call in file.calls(symbol)]


def _files_with(folder: Folder, symbol: str, chosen: Floats) -> Iterator[CodeFile]:
    """Yield the parsed files of code with the name of a symbol."""
    name = SYMBOL_SEPARATOR.split(symbol)[-1]
    scores = folder.words.scores(folded_words(name)) * chosen
    for number in np.unique(folder.file_numbers[scores > 0]).tolist():
        first, end = np.searchsorted(folder.file_numbers, [number, number + 1]).tolist()
        records = [*folder.records(range(first, end)).values()]
        if any(name in record.get("code", "") for record in records):
            try:
                if outline := outline_of(records[0]["language"]):
                    yield CodeFile(records, outline)
            except UserError as error:
                say(str(error.at(records[0]["path"])))


def not_found(folder: Folder, symbol: str, chosen: Floats) -> UserError:
    """Return the error for a symbol without uses, or calls, with similar names."""
    found, name = uses(folder, symbol, chosen), SYMBOL_SEPARATOR.split(symbol)[-1]
    if _defined_at(found):
        return UserError(f"no definition of {symbol} calls anything", "name another function")
    if name != symbol and (places := _defined_at(uses(folder, name, chosen))):
        remedy = f"{name} is defined at {', '.join(places[:MAX_SIMILAR_NAMES])}"
        return UserError(f"no definition has the name {symbol}", remedy)
    if found:
        return UserError(f"{symbol} is used here, but not defined", "name a function of this code")
    word = fold(name)
    near = folder.words.beginning_as(word[:1])
    names = list[str]()
    for other in get_close_matches(word, near, MAX_SIMILAR_NAMES, MIN_SIMILARITY):
        passages = highest_scores(folder.words.scores([other]) * chosen, PASSAGES_OF_A_NAME)
        codes = [record.get("code", "") for record in folder.records(passages).values()]
        written = re.search(rf"\b{re.escape(other)}\b", "\n".join(codes), re.IGNORECASE)
        if written and written[0] != name:
            names.append(written[0])
    remedy = "write the name alone, as in the code"
    if names:
        remedy = f"did you mean {' or '.join(names)}?"
    return UserError(f"no code has the name {symbol}", remedy)


def _defined_at(found: Sequence[Answer]) -> list[str]:
    """Return the places of definitions among the uses of a symbol."""
    defined = (record for _, record in found if record["use"] == "definition")
    return [f"{record['path']}:{record['line']}" for record in defined]


class CodeFile:
    """A file of code: its lines, its syntax tree and its definitions."""

    def __init__(self, records: Sequence[Record], outline: Outline) -> None:
        """Parse a file whose passages are given. Errors: `UserError` of the parser."""
        self.path, self.language = records[0]["path"], records[0]["language"]
        self.rows = [""] * max(record["lines"][1] for record in records)
        for record in records:
            code = re.split(r"\r\n|\r|\n", record["code"])
            first = record["lines"][0] - 1
            self.rows[first : first + len(code)] = code
        text = "\n".join(self.rows)
        self.data = text.encode("utf-8", "replace")
        program = outline.parse(text, self.data)
        self.root, self.definitions = program.tree.root_node, program.definitions

    def uses(self, symbol: str) -> Iterator[Answer]:
        """Yield the definitions of a symbol, and the lines that use its name."""
        for definition in self._defining(symbol):
            rows = definition.top, definition.name_row, definition.end_row
            yield self._answer(*rows, definition, use="definition")
        name = SYMBOL_SEPARATOR.split(symbol)[-1]
        name_rows = {each.name_row for each in self.definitions if each.name == name}
        use_of_row: dict[int, str] = {}  # the first one that is more than a mention, if any
        own = name.encode()
        pattern = re.compile(rb"(?<![A-Za-z0-9_])%b(?![A-Za-z0-9_])" % re.escape(own))
        for node in self._leaves(pattern, 0, len(self.data)):
            row = node.start_point.row
            is_new = row not in name_rows and use_of_row.get(row, "mention") == "mention"
            if node.text == own and is_new:
                use_of_row[row] = _use_of(node, self.data)
        for row, use in use_of_row.items():
            enclosing = self._enclosing(row)
            if use == "definition" and enclosing and enclosing.kind == FUNCTION:
                use = "mention"  # of a local variable
            yield self._answer(row, row, row, enclosing, use=use)

    def calls(self, symbol: str) -> Iterator[Answer]:
        """Yield the first call of each name in the definitions of a symbol."""
        names = {(each.name_row, each.name) for each in self.definitions}
        starts = {each.node.start_byte for each in self.definitions}  # Elixir's `def` is a call
        for definition in self._defining(symbol):
            called = set[str]()
            for node in self._leaves(IDENTIFIER, definition.start, definition.end):
                name = (node.text or b"").decode("utf-8", "replace")
                row = node.start_point.row
                defines = node.start_byte in starts or (row, name) in names
                if name in called or defines or not node.is_named:
                    continue
                if _use_of(node, self.data) == "call":
                    called.add(name)
                    yield self._answer(row, row, row, definition, calls=name)

    def _defining(self, symbol: str) -> Iterator[Definition]:
        """Yield the definitions of a symbol, which may begin with containers.

        They are classes and functions, the file, and folders: `Server.start` is `start` in
        `Server.zig`, and `http.Get` is `Get` in a file of the folder `http`.
        """
        asked = [part for part in SYMBOL_SEPARATOR.split(symbol) if part]
        file = PurePosixPath(self.path).with_suffix("").parts
        for definition in self.definitions:
            own = SYMBOL_SEPARATOR.split(definition.path)
            if any([*outer, *own][-len(asked) :] == asked for outer in (file, file[:-1])):
                yield definition

    def _enclosing(self, row: int) -> Definition | None:
        """Return the innermost definition with a row."""
        enclosing = [each for each in self.definitions if each.top <= row <= each.end_row]
        return enclosing[-1] if enclosing else None

    def _leaves(
        self, pattern: re.Pattern[bytes], start: int, end: int
    ) -> Iterator[tree_sitter.Node]:
        """Yield the leaves of the tree that begin where a pattern matches, except texts."""
        for match in pattern.finditer(self.data, start, end):
            leaf = self.root.descendant_for_byte_range(*match.span())
            if leaf and leaf.start_byte == match.start() and not leaf.child_count:
                if not TEXT_NODE.search(leaf.type):
                    yield leaf

    def _answer(
        self,
        top: int,
        row: int,
        end: int,
        enclosing: Definition | None,
        **more: str,
    ) -> Answer:
        """Return rows of the file as an answer; `more` is their `use`, or what it `calls`."""
        score = DEFINITION_SCORE if more.get("use") == "definition" else USE_SCORE
        symbol = {"symbol": enclosing.path} if enclosing else {}
        record = {
            "id": f"{self.path}#L{row + 1}",
            "path": self.path,
            "language": self.language,
            "line": row + 1,
            "lines": [top + 1, end + 1],
            **more,
            **symbol,
            "code": "\n".join(self.rows[top : end + 1]),
        }
        return Hit(record["id"], score), record


def _use_of(node: tree_sitter.Node, data: bytes) -> str:
    """Return how a name in a file is used: defined, called, imported, or mentioned otherwise."""
    if _is_called(node, data):
        return "call"
    ancestor = node.parent
    while ancestor:
        if IMPORT_NODE.search(ancestor.type):
            return "import"
        ancestor = ancestor.parent
    return "definition" if _is_defined(node) else "mention"


def _is_defined(node: tree_sitter.Node) -> bool:
    """Return whether a declaration or an assignment gives a value this name."""
    inner, ancestor = node, node.parent
    while ancestor and not DEFINITION_NODE.search(ancestor.type):
        if ancestor.byte_range != inner.byte_range:
            return False
        inner, ancestor = ancestor, ancestor.parent
    if ancestor is None:
        return False
    # without a field, the first child is the name
    if ancestor.field_name_for_named_child(0) is None and ancestor.named_child(0) == inner:
        return True
    return any(inner in ancestor.children_by_field_name(name) for name in DEFINED_FIELDS)


def _is_called(node: tree_sitter.Node, data: bytes) -> bool:
    """Return whether a name is what a call calls, or the end of it: `f`, `a.f`, `f<T>`."""
    callee, ancestor = node, node.parent
    while ancestor and not CALL_NODE.search(ancestor.type):
        if COMPARISON_NODE.search(ancestor.type):
            return GENERIC_CALL.match(data, node.end_byte) is not None
        after = callee.next_named_sibling
        if after and after.type == "selector" and after.child(0).type == "argument_part":  # of Dart
            return True
        is_generic = after and TYPE_ARGUMENTS_NODE.search(after.type)
        if ancestor.end_byte != callee.end_byte and not is_generic:
            return False
        callee, ancestor = ancestor, ancestor.parent
    if ancestor is None:
        return False
    named = filter(None, map(ancestor.child_by_field_name, CALLEE_FIELDS))
    members = [child for child in ancestor.named_children if child.type == "member_name"]
    return next(chain(named, members), ancestor.named_child(0)) == callee
