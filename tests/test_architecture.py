"""The rules of the house: rooms, floors and plugins, checked from the files themselves."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

from structkit import registry

# a room imports rooms of lower floors only; a module that is in none of them is of the ground
FLOORS = (
    ("ground",),
    ("records",),
    ("folders", "tokens", "words", "embeddings", "structure", "formats"),
    ("metadata", "model"),
    ("training",),
    ("static", "scoring"),
    ("encoders", "strae", "searching", "collecting"),
    ("encoding", "pairs", "ranking"),
    ("asking",),
    ("plugin",),
    ("commands",),
    ("cli", "api"),
    ("structkit",),  # the package itself, which opens api
    ("__main__",),
)
HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
STRUCTKIT = sorted(Path("structkit").rglob("*.py"))
PLUGINS = sorted(Path("plugins").rglob("*.py"))
SOURCES = STRUCTKIT + PLUGINS
TESTS = sorted([*Path("tests").rglob("*.py"), *Path("experiments").glob("*.py")])
IMPORTING = ("import_module", "__import__")


@cache
def nodes(path):
    """All parts of a file's program."""
    return [*ast.walk(ast.parse(path.read_text("utf-8")))]


@cache
def imports(path):
    """All names that a file imports, absolute.

    Late imports and those for types are included, and names in strings, as `import_module` takes.
    """
    package, found = package_of(path), []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = "." * node.level + (node.module or "")
            home = resolve_name(home, package) if node.level else home
            found += [f"{home}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Constant) and node.value in MODULES and "." in node.value:
            found.append(node.value)  # the package's name alone may be the program's
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(IMPORTING):
            given = [*node.args, *(each.value for each in node.keywords)]
            names = [each.value for each in given if isinstance(each, ast.Constant)]
            found += [resolve_name(name, package) for name in names]
    return found


def module_of(path):
    """The module that a file is."""
    parts = path.with_suffix("").parts
    parts = ("structkit_plugins", *parts[1:]) if parts[0] == "plugins" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES}


def package_of(path):
    """The package from which a file's relative names count."""
    module = module_of(path)
    return module if path.stem == "__init__" else module.rpartition(".")[0]


def room(module):
    """The room of a module `structkit.…`: a folder, one of learning's, or the ground."""
    name = module.removeprefix("structkit.").removeprefix("learning.").partition(".")[0]
    return name if name in HEIGHT else "ground"


def rooms_of(path):
    """The rooms whose modules a file imports."""
    return {room(name) for name in imports(path) if name.startswith("structkit.")}


def within(name):
    """Which of our modules an imported name is, or is in; empty for others' names."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def test_a_file_imports_only_floors_below():
    for path in STRUCTKIT:
        here = room(module_of(path))
        above = {each for each in rooms_of(path) - {here} if HEIGHT[each] >= HEIGHT[here]}
        assert set() == above, f"{path} is in {here}"


def test_no_imports_go_in_a_circle():
    graph = {
        module: {within(name) for name in imports(path)} - {module, ""}
        for module, path in MODULES.items()
    }
    TopologicalSorter(graph).prepare()


def test_commands_do_not_import_each_other():
    for path in Path("structkit/commands").glob("*.py"):
        assert "commands" not in rooms_of(path), path


def test_a_plugin_imports_rooms_below_commands_and_helpers_beside_it():
    for path in PLUGINS:
        assert not rooms_of(path) & {"commands", "cli", "api"}, path
        home = f"{package_of(path)}."
        beside = {name.removeprefix(home) for name in imports(path) if name.startswith(home)}
        assert all(name.startswith("_") for name in beside), (path, beside)


def test_nobody_imports_a_plugin_by_name():
    """Except the systems of the papers, which extend plugins of the first pack."""
    for path in SOURCES:
        named = [name for name in imports(path) if name.startswith("structkit_plugins.")]
        if path in PLUGINS:
            named = [name for name in named if not name.startswith(f"{package_of(path)}._")]
        if path.is_relative_to("plugins/papers"):
            named = [name for name in named if name.startswith("structkit_plugins.papers.")]
        assert not named, path


def levels(kind, module):
    """How many classes of a module extend each other; what extends nothing is included in one."""
    if kind.__module__ != module or kind.__bases__ in ((), (object,)):
        return 0
    return 1 + max(levels(base, module) for base in kind.__bases__)


@pytest.mark.parametrize("name", registry.names("method"))
def test_settings_of_a_room_are_at_most_three_levels_deep(name):
    for kind in registry.load("method", name).__mro__:
        assert levels(kind, kind.__module__) <= 3


def test_a_test_imports_no_test():
    """What several tests use is a module of tests/, or a fixture of conftest.py."""
    for path in TESTS:
        assert [] == [name for name in imports(path) if re.search(r"(^|\.)test_", name)], path


# what no file does: run a shell, open a pickle of others, run code from data
UNSAFE = {"subprocess", "pty", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code"}
BUILTINS = {"eval", "exec", "compile", "__import__", "input"}
UNSAFE_CALLS = {*"system popen execv execvp spawnv extractall extract unpack_archive".split()}
PROGRAMS = {
    Path("structkit/collecting/history.py"): {"subprocess"},  # asks git for the commits
    # tries an index of faiss, which may crash, by a program of ours
}
ITSELF = {(Path("structkit/cli/main.py"), "execv")}  # the program, again in UTF-8 mode
# a process of ours reads what its child or parent wrote
PICKLES = {Path("structkit/processes.py"), Path("structkit/learning/training/launching.py")}


def whole(path):
    """The modules that a file imports, or imports from."""
    return {part for name in imports(path) for part in (name, name.rpartition(".")[0])}


def calls(path):
    """Each call of a file, as its function and its keywords."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            keywords = {each.arg: ast.unparse(each.value) for each in node.keywords}
            yield ast.unparse(node.func), keywords


def test_no_source_runs_a_shell_or_code_from_data():
    for path in SOURCES:
        assert not UNSAFE & whole(path) - PROGRAMS.get(path, set()), path
        assert "pickle" not in whole(path) or path in PICKLES, path
        for function, keywords in calls(path):
            name = function.rpartition(".")[2]
            assert function not in BUILTINS, (path, function)
            assert name not in UNSAFE_CALLS or (path, name) in ITSELF, (path, function)
            assert "shell" not in keywords, path


def test_no_source_opens_a_pickle_or_a_models_own_code():
    found = set()
    for path in SOURCES:
        for function, keywords in calls(path):
            if function == "np.load":
                assert keywords.get("allow_pickle", "False") == "False", path
            elif function == "torch.load":
                assert keywords.get("weights_only") == "True", path
            elif function.endswith(".from_pretrained"):
                assert {"LOCAL_ONLY", "LOCAL_SAFETENSORS"} & {keywords.get(None)}, (path, function)
            else:
                continue
            found.add(function.rpartition(".")[2])
    assert {"load", "from_pretrained"} == found


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONDITIONS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
LONG_PATTERN = 80  # characters
VERBOSE = re.compile(r"re\.(VERBOSE|X)\b")


def is_text(node):
    """Whether a node is a text, or a list."""
    literal = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return literal or isinstance(node, ast.JoinedStr | ast.List)


def is_condition(node):
    """Whether a node is true or false by its form."""
    return isinstance(node, CONDITIONS) or ast.unparse(node).startswith("bool(")


def is_long_pattern(call):
    """Whether a call compiles a long pattern of one line, without room for comments."""
    if not ast.unparse(call.func).endswith("re.compile") or not is_text(call.args[0]):
        return False
    texts = (each.value for each in ast.walk(call.args[0]) if isinstance(each, ast.Constant))
    size = sum(len(text) for text in texts if isinstance(text, str))
    return size > LONG_PATTERN and not VERBOSE.search(ast.unparse(call))


def signs(path):
    """What makes a reader stop: each sign of a file with its line."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            if isinstance(node.targets[0], ast.Tuple):
                yield "constants paired in one assignment", node.lineno
    for node in nodes(path):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = node.left, node.right
            if any(map(is_text, sides)) and any(map(is_condition, sides)):
                yield "text or list times a condition", node.lineno
        elif isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Tuple | ast.List):
                yield "splat of a literal", node.lineno
        elif isinstance(node, COMPREHENSIONS):
            inner = sum(isinstance(each, COMPREHENSIONS) for each in ast.walk(node)) - 1
            if inner >= 2 or len(node.generators) >= 3:
                yield "comprehension three deep", node.lineno
        elif isinstance(node, ast.IfExp):
            if isinstance(node.body, ast.IfExp) or isinstance(node.orelse, ast.IfExp):
                yield "conditional expression in another", node.lineno
        elif isinstance(node, ast.Call) and is_long_pattern(node):
            yield "long pattern without re.VERBOSE", node.lineno


def defined_names(path):
    """The names that a file defines at its top level."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


# how many of them there may be; these numbers only fall
BOUNDS: dict[str, int] = {}
MAX_SHARED_NAMES = 50
# names that every plugin or command defines
CONTRACT = {each.capitalize() for each in registry.PLUGIN_KINDS} | {"Settings", "run", "logger"}


def test_signs_that_make_a_reader_stop_only_get_fewer():
    found = {}
    for path in SOURCES:
        for sign, line in signs(path):
            found.setdefault(sign, []).append(f"{path}:{line}")
    assert {} == {sign: at for sign, at in found.items() if len(at) > BOUNDS.get(sign, 0)}


def test_a_name_at_top_level_means_one_thing():
    files = {}
    for path in SOURCES:
        for name in {*defined_names(path)} - CONTRACT:
            if not name.startswith("__"):
                files.setdefault(name, []).append(str(path))
    shared = {name: paths for name, paths in files.items() if len(paths) > 1}
    assert len(shared) <= MAX_SHARED_NAMES, shared
