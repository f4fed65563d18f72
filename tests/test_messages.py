"""Messages name settings; the command line and Python spell them, and nothing else does."""

import ast
import re
from pathlib import Path

import pytest

import structkit
from structkit.errors import Python, flag, program, spell_settings, use_surface

ROOT = Path(structkit.__file__).parents[1]
FLAG = re.compile(r"--[a-z]")
ARGUMENT = re.compile(r"--[a-z-]+(=\S*)?")  # of another program: alone, where a message has words
EXAMPLES = ("example", "usage")  # attributes of methods that are command lines


def spelled_flags(tree):
    """The constants that spell a flag.

    Docstrings, the command lines of examples and the arguments of another program are none.
    """
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.Call):
            values = node.elts if isinstance(node, ast.Tuple) else node.args
            firsts = [
                each.values[0] if isinstance(each, ast.JoinedStr) else each for each in values
            ]
            texts = [each for each in firsts if isinstance(each, ast.Constant)]
            left_out.update(each for each in texts if ARGUMENT.fullmatch(str(each.value)))
        is_list = isinstance(node, ast.Attribute) and node.attr == "split"  # of arguments
        if isinstance(node, ast.Expr) or is_list:
            left_out.add(node.value)
        if isinstance(node, ast.keyword) and node.arg == "examples":
            left_out.add(node.value)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in EXAMPLES:
            left_out.update(ast.walk(node.value))
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out
        if FLAG.search(node.value)
    ]


def test_only_surfaces_spell_flags():
    found = {}
    for path in [*ROOT.glob("structkit/**/*.py"), *ROOT.glob("plugins/**/*.py")]:
        name = path.relative_to(ROOT)
        if Path("structkit/cli") not in name.parents:
            if flags := spelled_flags(ast.parse(path.read_text("utf-8"))):
                found[str(name)] = flags
    assert {} == found


NAMED = [  # what a message names, for the command line, for Python
    (lambda: flag("mask_ratio"), "--mask-ratio", "mask_ratio"),
    (lambda: flag("mask_ratio", 2), "--mask-ratio 2", "mask_ratio=2"),
    (lambda: flag("from_"), "--from", "from_"),
    (lambda: flag("k", 3), "-k 3", "k=3"),
    (lambda: flag("output"), "-o", "output"),
    (lambda: flag("normalize", False), "--no-normalize", "normalize=False"),
    (lambda: flag("files", None, "FILE"), "FILE", "files"),
    (lambda: spell_settings("with {on_error:skip} and {k}"), "with --on-error skip and -k", None),
    (lambda: program("encode", as_="query"), "structkit encode --as query", None),
    (
        lambda: program("ask", "my folder", no_cache=True),
        "structkit ask --no-cache 'my folder'",
        "structkit.ask('my folder', no_cache=True)",
    ),
]


@pytest.mark.parametrize(("message", "expected", "python"), NAMED)
def test_each_surface_spells_a_setting_as_it_takes_it(message, expected, python):
    assert expected == message()
    with use_surface(Python()):
        assert "--" not in message()
        assert python in (None, message())
