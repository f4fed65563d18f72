"""What every parser writes is read back: the same tree, the same leaves, the same labels.

With LAWS_EVERY=1 in the environment all real code and pages are read; without it, some.
"""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from structkit.errors import UserError
from structkit.learning.strae.sentences import leaf_depths
from structkit.structure.trees.brackets import binarize, read, unescaped, write
from structkit.structure.trees.letters import same
from structkit.structure.trees.tree import from_spans
from tests.structure.trees.parsed import parsed_texts

DATA = Path("../shared/data")
EVERY = int(os.environ.get("LAWS_EVERY", "200"))
OURS = Path("fixtures")
PLAIN = ("right-branching", "left-branching", "balanced", "random", "chunk", "builtin")
TEXTS = st.lists(
    st.sampled_from(
        ["-LRB-", "-LRB", "(", "]", "LRB-", "-", "a", "b c", " ", "\n", "\x85", "'", '"', ".", "é"]
    ),
    min_size=1,
).map("".join)


def check(tree, factor="right"):
    for made in (tree, binarize(tree, factor)):
        again = read(write(made))
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
    @settings(deadline=None, max_examples=40)
    def law(text):
        for tree in trees_of(parser, [text]):
            check(tree)

    law()


@given(st.lists(st.sampled_from(["<p>", "<b>", "</b>", "-LRB(", "&#40;-LRB-", "a b", "[]"])))
@settings(deadline=None, max_examples=60)
def test_any_markup(parts):
    [tree] = trees_of("dom", ["".join(parts) + " end"])
    check(tree, "balanced")


CODE = {
    "python": ["if a is not b and c not in d: pass", "x = '-LRB-' + \"-LRB(\" + f'{y:>{z}}'"],
    "php": ["function f() { yield from g(); $a ??= $b <=> $c; }"],
    "typescript": ["declare const x: unique symbol; let y: asserts z is A;"],
    "ruby": ['a = %w[b (c] + {d: "e #{f}"} if not defined? g'],
    "c": ["#if defined(A)\nunsigned long long x = (y)[0] ? {1} : '(';\n#endif\n"],
    "cpp": ["auto f = [&](auto... x) { return operator new(1), x()...; };"],
    "csharp": ['var x = y is not null and not z ? a!.b[^1] : $"{c}";'],
    "go": ["for i := range []T{{1}, {2}} { ch <- i; <-ch }"],
    "java": ["class A { int[] x = {1}; non-sealed interface B {} }"],
    "javascript": ["x = `a ${b(c)[d]}`; y = z?.[0] ?? /[(]/;"],
    "rust": ["fn f() -> impl Fn(&str) -> Vec<u8> { |x| vec![x as u8; 3] }"],
}
SNIPPETS = [(language, text) for language, texts in CODE.items() for text in texts]
FIXTURES = [
    (path.parent.name, path.read_text("utf-8").split("---input---\n")[1].split("\n---masked---")[0])
    for path in sorted(Path("fixtures/languages").glob("*/*.txt"))
]


@pytest.mark.parametrize("language", CODE)
def test_code(language):
    texts = [text for name, text in SNIPPETS + FIXTURES if name == language]
    found = trees_of("ast", texts, languages=[language] * len(texts))
    for text, tree in zip(texts, found, strict=True):
        assert same(tree.words, text)
        check(tree, "balanced")


@given(st.sampled_from(SNIPPETS + FIXTURES), st.data())
@settings(deadline=None, max_examples=60)
def test_edited_code(case, data):
    language, text = case
    place = data.draw(st.integers(0, len(text)))
    text = text[:place] + data.draw(st.sampled_from(["", "-LRB-", "(", "-LRB(", '"', " not in "]))
    for tree in trees_of("ast", [text + "\n x"], languages=[language]):
        check(tree, "balanced")


@pytest.mark.parametrize(
    ("parser", "ours", "files", "field", "every"),
    [
        ("ast", "code/functions.jsonl", "codesearch/*.jsonl.gz", "code", EVERY),
        ("dom", "pages/test.jsonl", "structdoc/*_docs*.jsonl.gz", "html", 4 * EVERY),
        ("right-branching", "code/test.jsonl", "codesearch/*.jsonl.gz", "docstring", EVERY),
        ("chunk", "pages/test.jsonl", "structdoc/*_queries.jsonl.gz", "query", EVERY),
        ("builtin", "pages/test.jsonl", "structdoc/*_queries.jsonl.gz", "query", EVERY),
    ],
)
def test_real_texts(parser, ours, files, field, every):
    """Samples of our own, and where the data is beside structkit, some of it or all."""
    count = 0
    every = 1 if EVERY == 1 else every
    for path in [OURS / ours, *sorted(DATA.glob(files))]:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8") as handle:
                rows = [json.loads(line) for line in list(handle)[::every]]
        else:
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows = [row for row in rows if row.get(field)]
        languages = [row.get("language") for row in rows]
        for tree in trees_of(parser, [row[field] for row in rows], languages=languages):
            check(tree, "balanced")
            count += 1
    assert count


def test_a_label_with_a_blank_is_one_word():
    tree = from_spans(["is", "not"], [(0, 2)], ["is not"])
    assert write(tree) == "(is_not (X is) (X not))"
    assert read(write(tree)).words == ("is", "not")


def test_one_reading_of_brackets_and_escapes():
    assert unescaped("-LRB(") == "(LRB-"
    assert unescaped("f-LRB-x]") == "f(x]"
    assert same(["(LRB-"], "-LRB(")


def test_the_remedy_for_half_a_label_makes_no_leaf_of_it():
    """Old files have such labels: to binarize them would make a word of `not`."""
    with pytest.raises(UserError) as error:
        leaf_depths(read("(comparison (a a) (is not (is is) (not not)) (b b))"))
    assert error.value.remedy.startswith("if 'not' is part of the label 'is', parse the text again")
    with pytest.raises(UserError) as error:
        leaf_depths(read("(S (A a) (B b) (C c))"))
    assert error.value.remedy == "binarize it with structkit parse-trees --parser brackets"


def test_rules_over_tags_read_long_texts():
    [tree] = parsed_texts("chunk", ["a " * 5000])
    assert tree.words == ("a",) * 5000
