"""What no file of the package does: run a shell, open a pickle of others, run code from data."""

import ast
from functools import cache
from pathlib import Path

SOURCES = [*Path("structkit").rglob("*.py"), *Path("plugins").rglob("*.py")]
MODULES = {"subprocess", "pty", "marshal", "shelve", "dill", "cloudpickle", "joblib", "code"}
NAMES = {"eval", "exec", "compile", "__import__", "input"}
ATTRIBUTES = {*"system popen execv execvp spawnv extractall extract unpack_archive".split()}
PROGRAMS = {
    Path("structkit/collecting/history.py"): {"subprocess"},  # asks git for the commits
    Path("plugins/methods/fasttext.py"): {"subprocess"},  # runs itself, so that Ctrl-C works
}
# a process of ours reads what its child or parent wrote; one names only what an unpickler raises
PICKLES = {
    Path("plugins/methods/fasttext.py"),
    Path("structkit/processes.py"),
    Path("structkit/learning/training/checkpoints.py"),
    Path("structkit/learning/training/launching.py"),
}


@cache
def nodes(path):
    return [
        node
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
    ]


def calls(path):
    """Each call of a file, as its function and its keywords."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield (
                ast.unparse(node.func),
                {each.arg: ast.unparse(each.value) for each in node.keywords},
            )


def imported(path):
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_no_source_runs_a_shell_or_code_from_data():
    for path in SOURCES:
        assert not MODULES & set(imported(path)) - PROGRAMS.get(path, set()), path
        assert "pickle" not in imported(path) or path in PICKLES, path
        for function, keywords in calls(path):
            name = function.rpartition(".")[2]
            assert function not in NAMES and name not in ATTRIBUTES, (path, function)
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
                assert {"PLAIN", "SAFE"} & {keywords.get(None)}, (path, function)
            else:
                continue
            found.add(function.rpartition(".")[2])
    assert {"load", "from_pretrained"} == found
