"""Trees: brackets, cleaning, binarization as NLTK does it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk import Tree as Peer
from nltk.tokenize import NLTKWordTokenizer

from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.trees.brackets import binarize, clean, read_tree, read_trees, write_tree
from structkit.structure.trees.parsers import Unparsed, all_trees
from structkit.structure.trees.shapes import ShapeParser
from structkit.structure.trees.tree import from_depths, from_spans
from structkit.structure.trees.words import same, tokenize, words_of
from tests.structure.trees.parsed import check_arrays

SAMPLE = Path("../shared/nltk_data/corpora/treebank/combined")
GOLD = Path("fixtures/trees/gold.mrg")  # our own
TREEBANK = [GOLD, Path("fixtures/formats/ptb/test.mrg"), *sorted(SAMPLE.glob("*.mrg"))[:40]]

signs = st.characters(exclude_categories=("Cs",), exclude_characters="()[]{}-|<>+")
words = st.text(signs, min_size=1, max_size=4).filter(lambda text: text == "".join(text.split()))
labels = st.sampled_from(["S", "NP", "VP", "X", "NP-SBJ"])
leaves = st.tuples(labels, words)
peers = st.recursive(leaves, lambda below: st.tuples(labels, st.lists(below, min_size=1)))


def peer(item):
    label, below = item
    return Peer(label, [below] if isinstance(below, str) else [peer(each) for each in below])


def nltk_binarized(tree, factor):
    tree = tree.copy(deep=True)
    while isinstance(tree[0], Peer) and len(tree) == 1:  # its root too, and its label
        tree = Peer(f"{tree.label()}+{tree[0].label()}", list(tree[0]))
    tree.collapse_unary(collapsePOS=True, collapseRoot=True)
    tree.chomsky_normal_form(factor=factor, horzMarkov=0)
    return one_line(tree)


def one_line(tree):
    return " ".join(str(tree).split())


@given(item=peers, factor=st.sampled_from(["right", "left"]))
def test_trees_of_all_shapes_agree_with_nltk(item, factor):
    theirs = peer(item)
    ours = read_tree(str(theirs))
    check_arrays(ours)
    assert write_tree(ours) == one_line(theirs)
    assert list(ours.words) == theirs.leaves()
    small = binarize(ours, factor)
    check_arrays(small)
    assert write_tree(small) == nltk_binarized(theirs, factor)
    assert write_tree(binarize(read_tree(write_tree(small)), factor)) == write_tree(small)
    middle = binarize(ours, "balanced")
    check_arrays(middle)
    assert small.is_binary
    assert middle.is_binary
    assert small.words == middle.words == ours.words
    assert len(small.first) == len(middle.first) == 2 * len(ours.words) - 1


def test_the_treebank_as_it_is_on_disk():
    found = expected = 0
    for path in TREEBANK:
        text = path.read_text("utf-8")
        expected += sum(line.startswith("(") for line in text.splitlines())
        for tree in map(clean, read_trees(text)):
            check_arrays(binarize(tree))
            assert not {"", "-NONE-", "ROOT"} & set(tree.labels)
            assert not any("-" in label.strip("-") for label in tree.labels)
            assert write_tree(read_tree(write_tree(tree))) == write_tree(tree)
            found += 1
        for line in text.splitlines() if path == GOLD else ():
            assert write_tree(binarize(read_tree(line))) == nltk_binarized(
                Peer.fromstring(line), "right"
            )
    assert found == expected >= 20 + 2 + 500 * SAMPLE.exists()


@pytest.mark.parametrize("depth", [600, 100_000])
def test_no_limit_of_depth(depth):
    tree = read_tree("(S (A a) " * depth + "(B b)" + ")" * depth)
    assert len(tree.words) == depth + 1
    small = binarize(clean(tree))
    assert small.is_binary
    assert len(write_tree(small)) == depth * len("(S (A a) )") + len("(B b)")
    chain = read_tree("(S " * depth + "a" + ")" * depth)
    assert len(binarize(chain).first) == 1
    spans = [(0, end) for end in range(2, 2001)]
    assert len(from_spans(["a"] * 2000, spans).first) == 3999


def test_brackets_over_lines_and_several_trees():
    text = "\n( (S (NP (PRP I))\n   (VP (VBP go))) )\n((S yes))\t(X (Y -LRB-)(Z -RSB-) )"
    trees = list(read_trees(text))
    assert [tree.words for tree in trees] == [("I", "go"), ("yes",), ("(", "]")]
    assert [tree.labels[0] for tree in trees] == ["", "", "X"]
    assert write_tree(clean(trees[0])) == "(S (NP (PRP I)) (VP (VBP go)))"
    assert write_tree(trees[2]) == "(X (Y -LRB-) (Z -RSB-))"
    assert write_tree(read_tree("(S a b (NN c))")) == "(S (X a) (X b) (NN c))"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("(ROOT (S (A a) (B b)))", "(S (A a) (B b))"),
        ("(TOP (S1 ( (S (A a) (B b)))))", "(S (A a) (B b))"),
        ("(S (NP-SBJ=2 (A a)) (NP (-NONE- *T*-1)) (VP|X-3 b))", "(S (NP (A a)) (VP|X b))"),
        ("(S (-LRB- -LRB-) (B b))", "(S (-LRB- -LRB-) (B b))"),
        ("(ROOT a)", "(ROOT a)"),
        ("(ROOT (A a) (B b))", "(ROOT (A a) (B b))"),
        ("(ROOT (S (A a) (B b)) (NP (-NONE- 0)))", "(S (A a) (B b))"),
    ],
)
def test_clean(text, cleaned):
    assert write_tree(clean(read_tree(text))) == cleaned


def test_depths_and_spans_make_the_same_tree():
    letters = list("abcd")
    merged = from_depths(letters, [1, 3, 3, 2])
    spanned = from_spans(letters, [(1, 4), (1, 3)])
    check_arrays(merged)
    assert write_tree(merged) == write_tree(spanned) == "(X (X a) (X (X (X b) (X c)) (X d)))"
    named = from_spans(letters, [(0, 4), (1, 3), (0, 1)], ["S", "NP", "DT"])
    assert write_tree(named) == "(S (DT a) (NP (X b) (X c)) (X d))"
    with pytest.raises(UserError, match="cross"):
        from_spans(letters, [(0, 2), (1, 3)])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the text holds no tree"),
        ("(S (A a)", "1 bracket is not closed"),
        ("((S (A a)", "2 brackets are not closed"),
        ("(S a))", "a closing bracket too many (character 6)"),
        ("(S a) b", "'b' outside of a tree (character 7)"),
        ("()", "the node () holds no word (character 2)"),
        ("(S (NP) (A a))", "the node (NP) holds no word"),
        ("(S a)(S b)", "the text holds several trees"),
    ],
)
def test_faults_of_brackets(text, problem):
    with pytest.raises(UserError) as error:
        read_tree(text)
    assert problem in str(error.value)


def test_a_word_without_letters_cannot_be_written():
    for word in ("", "a b"):
        with pytest.raises(UserError, match="is empty or holds a space"):
            write_tree(from_spans([word, "x"], []))


@given(text=st.text())
def test_words_keep_every_letter(text):
    found = words_of(text)
    assert all(word == "".join(word.split()) for word in found)
    assert same(found, text)


SIGNS = [*"ab 'sS.\"`,:;-–—“”‘’«»()[]{}<>?!*#$%&1\n\tİſ", "can", "not", "n't", "''", "--", " 'tis"]


@given(signs=st.lists(st.sampled_from(SIGNS), max_size=40))
def test_words_are_those_of_nltk(signs):
    text = "".join(signs)
    assert NLTKWordTokenizer().tokenize(text) == tokenize(text)


@pytest.mark.parametrize("span", [(1, 4), (-1, 2), (2, 2), (2, 1)])
def test_a_parsers_span_outside_its_text_is_refused(span):
    class Parser(ShapeParser):
        def tree(self, words, key):
            return from_spans(words, [(0, 2), span])

    [error] = all_trees(Parser(tokenized=True), [Unparsed("a b c")])
    assert f"the parser {__name__} makes no tree: the span {span} is empty or" in error.problem


def test_stanza_is_an_extra():
    with pytest.raises(UserError) as error:
        list(load("parser", "stanza")().trees([Unparsed("It is.")]))
    assert "stanza" in str(error.value)


@pytest.mark.parametrize("path", sorted(Path("fixtures/trees").glob("*.txt")), ids=lambda p: p.stem)
def test_golden(path, golden):
    """Real shapes, written by hand: as they are read, cleaned, and binarized each way."""
    text = path.read_text("utf-8").partition("---input---\n")[2].partition("\n---read---\n")[0]
    steps = {"read": lambda tree: tree, "clean": clean}
    for factor in ("right", "left", "balanced"):
        steps[factor] = lambda tree, factor=factor: binarize(clean(tree), factor)
    parts = []
    for name, step in steps.items():
        try:
            parts.append(f"---{name}---\n{write_tree(step(read_tree(text)))}\n")
        except UserError as error:
            parts.append(f"---{name}---\n{error}\n")
    golden(path, f"---input---\n{text.strip()}\n{''.join(parts)}")
