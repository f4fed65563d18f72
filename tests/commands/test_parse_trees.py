"""parse-trees: one binary tree a text, in input order, for any text; each fault one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit import parse_trees
from structkit.errors import UserError
from structkit.registry import load
from structkit.structure.trees.brackets import read_tree
from structkit.structure.trees.parsers import Unparsed, all_trees
from structkit.structure.trees.words import words_of

SIMPLE = ("right-branching", "left-branching", "balanced", "random")
texts = st.text().filter(str.strip)


def made(record, **options):
    [found] = parse_trees([{"id": "1", **record}], **options)
    return found


@pytest.mark.parametrize("parser", SIMPLE)
@given(text=texts, tokenized=st.booleans())
def test_the_leaves_are_the_words(parser, text, tokenized):
    tree = read_tree(made({"text": text}, parser=parser, tokenized=tokenized)["tree"])
    assert list(tree.words) == words_of(text, tokenized=tokenized)
    assert tree.is_binary
    assert len(tree.labels) == 2 * len(tree.words) - 1


def test_final_punctuation_goes_to_the_root():
    options = {"parser": "right-branching", "final_punct": "root"}
    assert made({"text": "I go."}, **options)["tree"] == "(X (X (X I) (X go)) (X .))"
    assert made({"text": "I go"}, **options)["tree"] == "(X (X I) (X go))"
    assert made({"text": "! ?"}, **options)["tree"] == "(X (X !) (X ?))"
    gold = {"tree": "(S (NP (PRP I)) (VP (VBP go) (PP (IN to) (NP (NN sea))) (. !) ('' '')))"}
    expected = "(S (S|<> (S|<> (NP+PRP I) (VP (VBP go) (PP (IN to) (NP+NN sea)))) (. !)) ('' ''))"
    assert made(gold, parser="brackets", final_punct="root")["tree"] == expected


def test_several_fields():
    record = {"text_a": "a b", "text_b": "c"}
    found = made(record, parser="balanced", field=("text_a", "text_b"))
    assert found == {"id": "1", **record, "text_a_tree": "(X (X a) (X b))", "text_b_tree": "(X c)"}


def test_trees_that_are_there_already():
    wide = {"tree": "(ROOT (S (A a) (B b)\n (C c) (D (-NONE- *))))"}
    assert made(wide, parser="brackets")["tree"] == "(S (A a) (S|<> (B b) (C c)))"
    assert made(wide, parser="brackets", factor="left")["tree"] == "(S (S|<> (A a) (B b)) (C c))"
    assert made(wide, parser="brackets", binarize=False)["tree"] == "(S (A a) (B b) (C c))"
    quoted = {"text": '"f(x)" works', "tree": "(S (`` ``) (N f-LRB-x-RRB-) ('' '') (V works))"}
    assert made(quoted, parser="brackets")["tree"].startswith("(S (`` ``)")


def test_random_trees_depend_on_seed_and_id():
    texts = [{"id": str(number), "text": "a b c d e f g h i j k l"} for number in range(4)]
    trees = {r["id"]: r["tree"] for r in parse_trees(texts, parser="random")}
    assert len(set(trees.values())) == 4
    again = {r["id"]: r["tree"] for r in parse_trees(texts[::-1], parser="random")}
    assert trees == again
    [other] = parse_trees(texts[:1], parser="random", seed=1)
    assert other["tree"] != trees["0"]


@pytest.mark.parametrize(
    ("record", "options", "reason"),
    [
        ({"text": " \n"}, {}, 'field "text" is empty: no words, no tree; leave it out'),
        ({"html": "x"}, {}, 'field "text" is missing; the record has: id, html'),
        ({"text": 3}, {}, 'field "text" is a JSON number, not a string'),
        ({"tree": "(S (A a)"}, {"parser": "brackets"}, "1 bracket is not closed"),
        ({"tree": "(S (-NONE- *))"}, {"parser": "brackets"}, "holds traces only, no word"),
        (
            {"tree": "(S a)", "text": "b"},
            {"parser": "brackets"},
            "the words of the tree are not those of the text",
        ),
        ({"text": "x"}, {"parser": "chart"}, "unknown parser 'chart'; "),
        ({"text": "x"}, {"parser": "random", "url": "x"}, "the parser random takes no url"),
        ({"text": "x"}, {"parser": "random", "language": "c"}, "takes no language"),
    ],
)
def test_rejected(record, options, reason):
    with pytest.raises(UserError) as error:
        made(record, **{"parser": "balanced", **options})
    assert reason in str(error.value)


def test_a_parser_that_raises_costs_one_record():
    class Choosy(load("parser", "balanced")):
        def trees(self, texts):  # looks ahead, and raises
            texts = list(texts)
            if any(each.text == "bad" for each in texts):
                raise UserError("this text is bad", "mend it")
            return super().trees(texts)

    found = all_trees(Choosy(), [Unparsed("a b"), Unparsed("bad"), Unparsed("c d")])
    assert [getattr(each, "words", str(each)) for each in found] == [
        ("a", "b"),
        "this text is bad; mend it",
        ("c", "d"),
    ]
