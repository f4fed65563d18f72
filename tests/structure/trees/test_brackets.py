"""What every parser writes is read back: the same tree, the same leaves, the same labels.

Trees of code keep every letter, and memory stays within a bound.
"""

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.commands import parse_trees as command
from structkit.errors import UserError
from structkit.structure.trees.brackets import binarize, read_tree, unescaped, write_tree
from structkit.structure.trees.tree import from_spans
from structkit.structure.trees.words import same
from tests.structure.code.sources import CODE as LANGUAGES
from tests.structure.code.sources import FIXTURES as INPUTS
from tests.structure.code.sources import cases
from tests.structure.trees.parsed import check_arrays, parsed_texts

PLAIN = ("right-branching", "left-branching", "balanced", "random", "builtin")
TEXTS = st.lists(
    st.sampled_from(
        ["-LRB-", "-LRB", "(", "]", "LRB-", "-", "a", "b c", " ", "\n", "\x85", "'", '"', ".", "é"]
    ),
    min_size=1,
).map("".join)


def check(tree, factor="right"):
    check_arrays(tree)
    for made in (tree, binarize(tree, factor)):
        again = read_tree(write_tree(made))
        assert again.words == tree.words
        assert again.labels == tuple("_".join(label.split()) or "X" for label in made.labels)
        for name in ("first", "count", "word"):
            assert np.array_equal(getattr(again, name), getattr(made, name))


def trees_of(parser, texts, languages=()):
    found = parsed_texts(parser, texts, languages)
    return [tree for tree in found if not isinstance(tree, UserError)]


@pytest.mark.parametrize("parser", PLAIN)
def test_any_text(parser):
    @given(TEXTS.filter(str.strip))
    @example("-LRB( -LRB-) a")
    def law(text):
        for tree in trees_of(parser, [text]):
            check(tree)

    law()


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "<b>", "</b>", "</div>", "<td>", "&lt", "-LRB(", "&#40;-LRB-", "a b", "[]"]
        )
    )
)
def test_any_markup(parts):
    [tree] = trees_of("dom", ["".join(parts) + " end"])
    assert tree.words[-1] == "end"
    check(tree, "balanced")


SNIPPETS = [(language, text) for language, text, _ in cases("snippets")]
FIXTURES = [(language, text) for language in INPUTS for text in INPUTS[language]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_code(language):
    texts = [text for name, text in SNIPPETS + FIXTURES if name == language]
    found = trees_of("ast", texts, languages=[language] * len(texts))
    for text, tree in zip(texts, found, strict=True):
        assert same(tree.words, text)
        check(tree, "balanced")


@given(st.sampled_from(SNIPPETS + FIXTURES), st.data())
def test_edited_code(case, data):
    language, text = case
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.sampled_from(["", "-LRB-", "(", "-LRB(", '"', " not in "]))
    for tree in trees_of("ast", [text + "\n x"], languages=[language]):
        assert same(tree.words, text + "\n x")
        check(tree, "balanced")


def test_a_label_with_a_blank_is_one_word():
    tree = from_spans(["is", "not"], [(0, 2)], ["is not"])
    assert write_tree(tree) == "(is_not (X is) (X not))"
    assert read_tree(write_tree(tree)).words == ("is", "not")


def test_one_reading_of_brackets_and_escapes():
    assert unescaped("-LRB(") == "(LRB-"
    assert unescaped("f-LRB-x]") == "f(x]"
    assert same(["(LRB-"], "-LRB(")


def test_elements():
    text = "<h1>Tea &amp; more</h1><p>is <b>very h</b>ot<script>x()</script><ul><li>one<li>two</ul>"
    [tree] = parsed_texts("dom", [text])
    assert write_tree(tree) == (
        "(body (h1 (X Tea) (X &) (X more)) (p (X is) (b (X very) (X h)) (X ot)) "
        "(ul (li one) (li two)))"
    )
    deep, empty = parsed_texts("dom", ["<div>" * 5000 + "a b", "<p> <script>x</script>"])
    assert deep.words == ("a", "b")
    assert str(empty) == "the document holds no text; leave the record out"


def test_code_without_a_grammar():
    found = parsed_texts("ast", ["x", "x", "x"], [None, "product", "cobol"])
    expected = [
        'field "language" is missing; name it with --language',
        "language 'product' has no syntax tree; leave the record out",
        "unknown language 'cobol'; ",
    ]
    for problem, error in zip(expected, found, strict=True):
        assert str(error).startswith(problem)


PAGE = "<div><p>tea milk water house garden <b>stone</b> and river.</p></div>\n"
CODE = "def f(a, b):\n    x = a + b * 3\n    return g(x, 'text of it')\n\n"


@pytest.mark.parametrize(
    ("parser", "field", "text", "most"), [("dom", "html", PAGE, 50), ("ast", "code", CODE, 200)]
)
def test_memory_is_some_bytes_for_each_character(parser, field, text, most):
    """20 MB of HTML, or 200,000 lines of code, stay below 1 GB."""
    times = 200
    small, large = ({"id": "1", "language": "python", field: text * n} for n in (1, times))
    settings = command.Settings(parser=parser)
    list(command.parse_trees([small], settings))  # what is loaded once
    tracemalloc.start()
    try:
        [found] = command.parse_trees([large], settings)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found["tree"]) > len(text) * times
    assert peak < most * len(text) * times
