"""The rules of the house: rooms, floors, plugins and sizes, checked from the files themselves."""

import ast
import subprocess
import tomllib
from pathlib import Path

import pytest

from structkit.command import COMMANDS

# a room imports rooms of lower floors only
FLOORS = (
    ("structkit",),
    ("records",),
    ("folders", "embeddings", "structure", "formats"),
    ("training",),
    ("static",),
    ("encoders", "strae", "span_parser", "scoring"),
    ("collecting", "encoding", "pairs", "searching"),
    ("ranking",),
    ("asking",),
    ("commands",),
    ("cli",),
    ("api",),
)
HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
STRUCTKIT = sorted(Path("structkit").rglob("*.py"))
PLUGINS = sorted(Path("plugins").rglob("*.py"))
SOURCES = STRUCTKIT + PLUGINS
TESTS = sorted(Path("tests").rglob("*.py"))
# each of their files is one command, plugin or benchmark
UNLIMITED = {
    *(Path("structkit/commands"), Path("structkit/cli"), *Path("plugins").iterdir()),
    *(Path("tests/commands"), Path("tests/benchmarks")),
}


# from a method's settings to its model: there it imports what takes seconds, as torch does
TO_A_MODEL = ("settled", "build", "untrained", "load")


def imported(path):
    """All modules that a file imports, and whether the import is where it belongs."""
    tree = ast.parse(path.read_text("utf-8"))
    # what only a type checker reads is no dependency
    tree.body = [node for node in tree.body if not _for_types(node)]
    late = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name in TO_A_MODEL
        for node in function.body
        if function.col_offset
    }
    for node in ast.walk(tree):
        placed = node in late or getattr(node, "col_offset", 0) == 0
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, placed
        elif isinstance(node, ast.ImportFrom):
            package = "." * node.level + (node.module or "")
            names = [f"{package}.{alias.name}" for alias in node.names]
            yield from ((name, placed) for name in names)


def _for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def room(module):
    """The room of a module `structkit.…`: a folder, the ground itself, or a folder of learning."""
    parts = module.split(".")
    if parts[1:2] == ["learning"]:
        parts = parts[1:]
    return parts[1] if parts[1] in HEIGHT else "structkit"


def used(path):
    """The rooms whose modules a file imports."""
    return {room(module) for module, _ in imported(path) if module.startswith("structkit.")}


@pytest.mark.parametrize("path", STRUCTKIT, ids=str)
def test_a_file_imports_only_floors_below(path):
    if path == Path("structkit/__main__.py"):
        assert used(path) == {"cli"}
        return
    here = room(".".join(path.with_suffix("").parts) + ".")
    above = {other for other in used(path) - {here} if HEIGHT[other] >= HEIGHT[here]}
    assert above == set()


def test_commands_do_not_import_each_other():
    for path in Path("structkit/commands").glob("*.py"):
        assert "commands" not in used(path), path


@pytest.mark.parametrize("path", PLUGINS, ids=str)
def test_a_plugin_imports_rooms_below_commands_and_helpers_beside_it(path):
    assert not used(path) & {"commands", "cli"}
    beside = [module for module, _ in imported(path) if module.startswith(".")]
    assert all(module.startswith("._") for module in beside)


def test_a_helper_serves_one_plugin():
    for helper in Path("plugins").glob("*/_[a-z]*.py"):
        assert len(served(helper)) == 1, (helper, served(helper))


def served(helper):
    """The plugins that import a helper, or a helper that imports it."""
    users = {path for path in helper.parent.glob("*.py") if imports_beside(path, helper.stem)}
    helpers = {path for path in users if path.name.startswith("_")}
    return (users - helpers).union(*map(served, helpers))


def imports_beside(path, name):
    return any(module.startswith(f".{name}.") for module, _ in imported(path))


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_nobody_imports_a_plugin_by_name(path):
    assert not [module for module, _ in imported(path) if module.startswith("structkit_plugins")]


# a terminal alone pays for rich's progress bars and lists, a comparison of runs for scipy, a
# search of embeddings for no bm25s, an answer from the cache for no parser, one worker for no
# processes, HTML for no Markdown, a command without plugins for no list of them, and a help that
# shows settings which commands share for none of their work
LAZY = {
    *("progress.py", "questions.py", "comparison.py", "lexical.py", "folder.py", "stream.py"),
    *("markdown.py", "registry.py", "options.py"),
}


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports_stand_at_the_top(path):
    # what opens a command imports its work when it is called: its help needs none of it
    if path.name not in LAZY and not {"cli", "commands"} & {*path.parts}:
        assert [module for module, top in imported(path) if not top] == []


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=str)
def test_files_and_functions_stay_small(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 500
    if path in TESTS:
        return
    if path.parent.name == "cli":
        return  # a command's flags are parameters of its function
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_rooms_stay_small_and_say_what_they_are_for():
    for folder in {path.parent for path in SOURCES + TESTS}:
        files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
        assert len(files) <= 40 or folder in UNLIMITED, folder
    for folder in {path.parent for path in SOURCES}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))), folder


def test_all_packages_are_installed():
    setup = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    # those of data too: setuptools takes each for a package, and warns of one that is not listed
    files = (path for root in ("structkit", "plugins") for path in Path(root).rglob("*.*"))
    folders = {".".join(path.parent.parts) for path in files if path.parent.name != "__pycache__"}
    packages = {name.replace("structkit_plugins", "plugins") for name in setup["packages"]}
    assert packages == folders


def test_a_command_is_found_by_its_name():
    for name in COMMANDS:
        stem = name.replace("-", "_")
        path = Path("structkit/commands", stem)
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists()
        assert Path("tests/commands", f"test_{stem}.py").exists()


def overloads(node):
    """Whether a function only says what its namesake below takes and gives."""
    return any(ast.unparse(each) == "overload" for each in node.decorator_list)


def test_every_public_name_has_a_docstring():
    missing = []
    for path in SOURCES:
        for node in ast.parse(path.read_text("utf-8")).body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"
            if public and not overloads(node) and not ast.get_docstring(node):
                missing.append(f"{path}:{node.lineno} {node.name}")
    assert missing == [], missing


def test_what_compares_roundings_runs_as_on_other_processors():
    command = ["make", "--dry-run", "test-processors"]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    named = {Path(word) for word in words if word.startswith("tests/")}
    assert named and all(path.exists() for path in named)
    others = [path for path in TESTS if named.isdisjoint([path, *path.parents])]
    assert [] == [path for path in others if "\nfrom tests.tolerances" in path.read_text("utf-8")]
