"""Trees of markup and of code keep every letter."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit.structure.trees.brackets import (
    write,
)
from tests.structure.trees.parsed import check_arrays, parsed_texts

HTML = "<h1>Tea &amp; more</h1><p>is <b>very h</b>ot<script>x()</script><ul><li>one<li>two</ul>"


def test_elements():
    [tree] = parsed_texts("dom", [HTML])
    assert write(tree) == (
        "(body (h1 (X Tea) (X &) (X more)) (p (X is) (b (X very) (X h)) (X ot)) "
        "(ul (li one) (li two)))"
    )
    deep, empty = parsed_texts("dom", ["<div>" * 5000 + "a b", "<p> <script>x</script>"])
    assert deep.words == ("a", "b")
    assert str(empty) == "the document holds no text; leave the record out"


@settings(deadline=None, max_examples=60)
@given(text=st.lists(st.sampled_from(["<b>", "</b>", "<p>", "</div>", "<td>", "a", " ", "&lt"])))
def test_elements_of_any_markup(text):
    [tree] = parsed_texts("dom", ["".join(text) + " end"])
    check_arrays(tree)
    assert tree.words[-1] == "end"


CODE = {
    "python": "def f(x):\n    # say it\n    return 'a b' + x\n",
    "java": "int f(int x) { return x + 1; }",
    "javascript": "const f = (x) => `a ${x} b`;",
    "php": "function f($x) { return $x; }",
    "go": "func f(x int) int { return x }",
    "ruby": "def f(x)\n  puts 'é'\nend",
    "rust": "fn f(x: i32) -> i32 { x }",
    "c": "int f(int x) { return x; }",
}


@pytest.mark.parametrize("language", CODE)
def test_code_keeps_every_letter(language):
    text = CODE[language]
    [tree] = parsed_texts("ast", [text], [language])
    check_arrays(tree)
    assert "".join(tree.words) == "".join(text.split())
    assert "ERROR" not in tree.labels


@settings(deadline=None, max_examples=60)
@given(text=st.text(st.sampled_from("ab ()\n:='\"é{}#")).filter(str.strip))
def test_any_code_keeps_every_letter(text):
    for language in ("python", "java"):
        [tree] = parsed_texts("ast", [text], [language])
        check_arrays(tree)
        assert "".join(tree.words) == "".join(text.split())


def test_code_without_a_grammar():
    texts, languages = ["x", "x", "x"], [None, "product", "cobol"]
    found = [str(each) for each in parsed_texts("ast", texts, languages)]
    assert found[0] == 'field "language" is missing; name it with --language'
    assert found[1] == "language 'product' has no syntax tree; leave the record out"
    assert found[2].startswith("no language 'cobol'; ")
