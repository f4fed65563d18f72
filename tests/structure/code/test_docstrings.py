"""Docstrings of Python: those of `ast.get_docstring`, and no others."""

import ast
import sysconfig
from pathlib import Path

import pytest

from structkit.registry import load
from structkit.structure.code.languages import without_docstring

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


DOCSTRINGS = {
    "plain": '"""Adds.\n\n    More.\n    """',
    "escapes": r'"""Adds \x41 \u00e9 \N{BULLET} \101\tb\\n."""',
    "continued line": '"""Adds \\\n    more."""',
    "escape that does not exist": r'"""Adds \d."""',
    "raw": r'r"""Adds \n \x41."""',
    "unicode": 'u"Adds."',
    "concatenated": '"Adds " "more" \'.\'',
    "concatenated, of two kinds": r'"Adds \n" r"\n"',
    "parenthesized": '("Adds.")',
    "twice": '(("Adds."))',
    "parenthesized lines": '(\n    "Adds "  # why\n    "more."\n    )',
    "half a surrogate pair": r'"Adds \ud800."',
    "empty": '""',
    "quotes inside": '"""Adds "x" \'y\'."""',
    "before a semicolon": '"Adds."; x = 1',
    "commented": '# why\n    "Adds."',
    "CRLF": '"""Adds.\r\n\r\n    More.\r\n    """',
    "CR": '"""Adds.\r\r    More.\r    """',
}
OTHERS = {
    "f-string": 'f"""Adds."""',
    "raw f-string": 'Rf"Adds {x}."',
    "bytes": 'b"""Adds."""',
    "raw bytes": 'rB"Adds."',
    "concatenated with an f-string": '"Adds " f"more."',
    "tuple": '("Adds.",)',
    "sum": '"Adds " + "more."',
    "formatted": '"Adds %s." % x',
    "method": '"Adds.".strip()',
    "assigned": 'x = "Adds."',
    "second statement": 'pass\n    "Adds."',
    "walrus": '(x := "Adds.")',
}


@pytest.mark.parametrize("string", (DOCSTRINGS | OTHERS).values(), ids=DOCSTRINGS | OTHERS)
@pytest.mark.filterwarnings("ignore:invalid escape")
def test_docstrings_are_those_of_ast(string):
    text = f"def f(x):\n    {string}\n    return x\n"
    assert expected(text) == documented(text)
    assert [("f", 1, "")] == documented(text) or string in DOCSTRINGS.values()
    assert "\r" not in documented(text)[0][2]


@pytest.mark.parametrize("string", (DOCSTRINGS | OTHERS).values(), ids=DOCSTRINGS | OTHERS)
@pytest.mark.parametrize("head", ["def f(x):", "@a\nasync def f(x):", "class A:"])
def test_pair_cuts_what_is_a_docstring_and_nothing_else(head, string):
    text = f"{head}\n    {string}\n    return x\n"
    left = without_docstring(text, {"language": "python"})
    if string in DOCSTRINGS.values():
        assert "Adds" not in left and "return x" in left
    else:
        assert text == left


# lines in brackets that are indented less than the statement, in a method before another
INDENTS = [
    "g(1 +\n2)",
    '{"a":\n1, "b": [y for y in\nz]}',
    "a[1 -\n2] = b[\nc]",
    'self.sql(\n"select (%s" %\nname)',
    "(a if b else\n# (\nc)",
    'g(a.\nb, """(\n""", not\n  c)',
    "(\na or\nb).c",
    "g(1 +\r\n2)",
]


@pytest.mark.parametrize("statement", INDENTS)
def test_a_line_in_brackets_ends_no_function(statement):
    head = 'class A:\n    def f(self, a=(1 |\n2)) -> b[c or\nd]:\n        """Adds."""\n        '
    text = head + statement + "\n        return x\n\n    @dec(a and\nb)\n    def g(self): pass\n"
    assert expected(text) == documented(text)
    assert ["f", "g"] == [each[0] for each in documented(text)]


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
