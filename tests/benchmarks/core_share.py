"""The share of lines that compute, in this project and in others: a rough classifier by syntax.

    python -m tests.benchmarks.core_share [FOLDER …]

A line of code is core (parsing, masking, trees, losses, models, search, measures, formats) or
plumbing; blank lines, comments and docstrings are neither. Plumbing is, by its form: an import, a
field of a class (`name: type = …`) or of `self` (`self.x = x`), a setting, a command, an error, a
warning, a message, and a check, function or handler that holds nothing else; and every line of the
files and folders of `PLUMBING`: command line, interface of Python, registry, errors.

Judged by hand, ir_measures was 80 % core, sentence-transformers 68 %, and this project, when it had
40,801 lines, 58 %. This rule says 76 %, 67 % and 61 %. On 2026-11-28 the same rule says
70 %: the product has more core, and less plumbing.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

OURS = (Path("structkit"), Path("plugins"))
PEERS = ("ir_measures", "sentence_transformers")
# what files and folders are called that are machinery by what they are for, here and elsewhere
PLUMBING = {
    *("__init__", "__main__", "api", "cli", "command", "extras", "plugin", "registry"),
    *("settings", "errors", "progress", "signals", "options", "user", "version", "logging"),
    *("deprecated", "deprecated_import", "environment", "training_args", "model_card"),
}
DECLARED = ("setting", "field", "Command", "TypeVar", "getLogger", "partial")
MESSAGES = ("warn", "warn_once", "warning", "warning_once", "info", "debug", "print", "note")


def called(node: ast.AST | None) -> str:
    """The last word of the function that an expression calls."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def lines_of(node: ast.stmt) -> set[int]:
    """The lines of a statement, its decorators too."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return {*range(first, (node.end_lineno or first) + 1)}


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement."""
    parts = (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ()))
    for part in parts:
        for name in ("body", "orelse", "finalbody"):
            if block := getattr(part, name, None):
                yield block


def is_plumbing(node: ast.stmt, within: ast.AST) -> bool:
    """Whether a simple statement imports, declares, refuses or says something."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert | ast.Pass):
        return True
    value = getattr(node, "value", None)
    if isinstance(node, ast.Expr):
        return isinstance(value, ast.Constant) or called(value) in MESSAGES
    if isinstance(node, ast.AnnAssign | ast.Assign):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        own = isinstance(target, ast.Attribute) and isinstance(value, ast.Name | ast.Constant)
        field = isinstance(node, ast.AnnAssign) and isinstance(within, ast.ClassDef)
        return own or field or called(value) in DECLARED
    return called(value).endswith(("Error", "Warning"))


def plumbing(block: list[ast.stmt], within: ast.AST) -> set[int]:
    """The lines of a block that are plumbing."""
    found: set[int] = set()
    for node in block:
        inner = list(blocks(node))
        if inner:
            held = {line for part in inner for each in part for line in lines_of(each)}
            within_it = {line for part in inner for line in plumbing(part, node)}
            found |= lines_of(node) if held <= within_it else within_it
        elif is_plumbing(node, within):
            found |= lines_of(node)
    return found


def counted(path: Path, home: Path) -> Counter[str]:
    """How many lines of a file are core, plumbing, or neither."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    rows = enumerate(map(str.strip, text.splitlines()), 1)
    code = {number for number, line in rows if line and line[0] != "#"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            code -= lines_of(node.body[0]) if ast.get_docstring(node) is not None else set()
    whole = PLUMBING & {*path.relative_to(home).with_suffix("").parts}
    other = code if whole else code & plumbing(tree.body, tree)
    return Counter(lines=len(text.splitlines()), core=len(code - other), plumbing=len(other))


def main() -> None:
    """Print a row for each peer, for all of the product and for each of its rooms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, default=OURS)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name in PEERS:
        spec = find_spec(name)
        for home in map(Path, (spec and spec.submodule_search_locations) or ()):
            found[name] += sum((counted(path, home) for path in home.rglob("*.py")), Counter())
    for home in parser.parse_args().folders:
        for path in sorted(home.rglob("*.py")):
            room = home.joinpath(*path.relative_to(home).parts[:-1][:1])
            for name in ("the product", str(room)):
                found[name] += counted(path, home)
    print("| | lines | core | plumbing | core share |\n|---|---:|---:|---:|---:|")
    for name, each in found.items():
        lines, core, other = each["lines"], each["core"], each["plumbing"]
        print(f"| {name} | {lines:,} | {core:,} | {other:,} | {core / (core + other or 1):.0%} |")


if __name__ == "__main__":
    main()
