"""Docstrings of Python: those of `ast.get_docstring`, and no others."""

import ast
import sysconfig
from pathlib import Path

import pytest

from structkit.registry import load
from structkit.structure.code.languages import without_docstring
from tests.structure.code.sources import cases

OUTLINE = load("language", "python").outline


def documented(text):
    """The names, first lines and docstrings of functions, in order."""
    parsed = OUTLINE.parse(text, text.encode("utf-8", "replace"))
    functions = [each for each in parsed.definitions if each.kind == "function"]
    return [(each.name, each.row + 1, parsed.doc_comment(each)) for each in functions]


def expected(text):
    """The same, as Python itself reads it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    found.sort(key=lambda node: (first_line(node), node.col_offset))
    return [(node.name, first_line(node), docstring(node)) for node in found]


def first_line(node):
    return min(each.lineno for each in (node, *node.decorator_list))


def docstring(node):
    text = (ast.get_docstring(node) or "").strip()
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


STRINGS = {name: (text, kind == "a docstring") for name, text, kind in cases("docstrings")}
STRINGS["CRLF"] = '"""Adds.\r\n\r\n    More.\r\n    """', True
STRINGS["CR"] = '"""Adds.\r\r    More.\r    """', True


@pytest.mark.parametrize(("string", "documents"), STRINGS.values(), ids=STRINGS)
@pytest.mark.filterwarnings("ignore:invalid escape")
def test_docstrings_are_those_of_ast(string, documents):
    text = f"def f(x):\n    {string}\n    return x\n"
    assert expected(text) == documented(text)
    assert [("f", 1, "")] == documented(text) or documents
    assert "\r" not in documented(text)[0][2]


@pytest.mark.parametrize(("string", "documents"), STRINGS.values(), ids=STRINGS)
@pytest.mark.parametrize("head", ["def f(x):", "@a\nasync def f(x):", "class A:"])
def test_pair_cuts_what_is_a_docstring_and_nothing_else(head, string, documents):
    text = f"{head}\n    {string}\n    return x\n"
    left = without_docstring(text, {"language": "python"})
    if documents:
        assert "Adds" not in left and "return x" in left
    else:
        assert text == left


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_functions_of_the_standard_library_are_those_of_ast():
    """Names, first lines and docstrings, in every third file: there is no difference in any."""
    checked, wrong = 0, []
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))[::3]:
        if {"site-packages", "lib2to3"} & set(path.parts):
            continue
        try:
            text = path.read_text("utf-8")
            right = expected(text)
        except (UnicodeDecodeError, SyntaxError, ValueError):
            continue
        checked += len(right)
        wrong += [(path.name, *each) for each in {*right} ^ {*documented(text)}]
    assert checked > 5_000
    assert [] == wrong
