"""The rules of the house: floors, plugins and file sizes, checked from the files themselves."""

import ast
from pathlib import Path

import pytest

GROUND = set(
    "errors extras flags formats interchange jsonl lines options output plugin progress registry "
    "paths rejects row_output rows seeds signals stream table workers".split()
)
FLOORS = {
    "cli": {"commands", "learning", "retrieval", "ground"},
    "commands": {"structure", "learning", "retrieval", "ground"},
    "learning": {"learning", "structure", "ground"},
    "structure": {"structure", "ground"},
    "retrieval": {"retrieval", "ground"},
    "ground": {"ground"},
}
SOURCES = sorted(Path("structkit").rglob("*.py")) + sorted(Path("plugins").rglob("*.py"))


def imported(path):
    """All modules that a file imports, and whether the import is at its top."""
    tree = ast.parse(path.read_text("utf-8"))
    # what only a type checker reads is no dependency
    tree.body = [node for node in tree.body if not _for_types(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.col_offset == 0
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((name, node.col_offset == 0) for name in names)


def _for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def floor(module):
    """The floor of a module `structkit.…`, as FLOORS names it."""
    part = module.split(".")[1] if "." in module else "ground"
    if part in GROUND or part == "__version__":
        return "ground"
    return part


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_a_file_imports_only_floors_below(path):
    modules = [module for module, _ in imported(path) if module.startswith("structkit")]
    if path.parts[0] == "plugins":
        assert not [module for module in modules if floor(module) in ("commands", "cli")]
        return
    if path.stem in ("__init__", "__main__"):
        return
    here = floor(".".join(path.with_suffix("").parts))
    assert [module for module in modules if floor(module) not in FLOORS[here]] == []


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_nobody_imports_a_plugin_by_name(path):
    assert not [module for module, _ in imported(path) if module.startswith("structkit_plugins")]


# a terminal alone pays for rich's progress bars, a comparison of runs for scipy
LAZY = {"cli.py", "progress.py", "comparison.py"}


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports_stand_at_the_top(path):
    if path.name not in LAZY:
        assert [module for module, top in imported(path) if not top] == []


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_files_and_functions_stay_small(path):
    text = path.read_text("utf-8")
    limit = 900 if path.name == "cli.py" else 300
    assert len(text.splitlines()) <= limit
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and path.name != "cli.py":
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_a_command_is_found_by_its_name():
    from structkit.cli import app

    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        stem = name.replace("-", "_")
        assert Path("structkit/commands", f"{stem}.py").exists()
        assert Path("tests", f"test_{stem}.py").exists()


def test_every_public_name_has_a_docstring():
    missing = []
    for path in SOURCES:
        for node in ast.parse(path.read_text("utf-8")).body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"
            if public and not ast.get_docstring(node):
                missing.append(f"{path}:{node.lineno} {node.name}")
    assert missing == [], missing
