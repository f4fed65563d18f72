"""F1 of trees against gold trees: numbers worked by hand, baselines, bad trees."""

import pytest

from structkit import parse_trees, score
from structkit.errors import UserError
from structkit.structure.trees.brackets import read_tree

GOLD = {
    "a": "(ROOT (S (NP-SBJ (DT the) (A (JJ old) (NN cat))) (VP (VBZ sleeps) (RB well)) (. .)))",
    "b": "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT a) (NN dog))))",
}
FOUND = {
    "b": "(S (NP she) (VP (VP sees a) (NN dog)))",
    "a": "(S (NP the old cat) (X (VP sleeps well) .))",
}


def trees(brackets):
    return [{"id": id_, "tree": tree} for id_, tree in brackets.items()]


def scores(found, gold=GOLD):
    return list(score({"found": trees(found)}, task="trees", gold=trees(gold)))


def test_scores_by_hand():
    found, left, right, balanced = scores(FOUND)
    # as they are, without periods, a: gold 0-3, 1-3, 3-5, found 0-3, 3-5: 2 of 2 found and 3 gold;
    # b: gold 1-4, 2-4; found 1-4, 1-3: 1 of 2, 2
    assert pytest.approx(100 * 2 * 3 / (4 + 5)) == found["f1"]
    # binarized, a: 0-3, 1-3, 3-6 and 3-5 in both; b: as above
    assert pytest.approx(100 * 2 * 5 / (6 + 6)) == found["binarized_f1"]
    assert (2, 0, 0) == (found["sentences"], found["missing"], found["unjudged"])
    assert found["f1_low"] <= found["f1"] <= found["f1_high"]
    # a: 0-2 … 0-4 with 0-3 (its 0-5 are all words); b: 0-2, 0-3
    assert pytest.approx(100 * 2 * 1 / (5 + 5)) == left["f1"]
    # a: 1-5, 2-5, 3-5 with 3-5; b: 1-4, 2-4
    assert pytest.approx(100 * 2 * 3 / (5 + 5)) == right["f1"]
    # a: 0-3 and 1-3, then 3-5 (3-6 without the period); b: 0-2, 2-4
    assert pytest.approx(100 * 2 * 4 / (5 + 5)) == balanced["f1"]
    assert ["left-branching", "right-branching", "balanced"] == [
        row["run"] for row in (left, right, balanced)
    ]


def test_sentences_without_a_counterpart_are_counted():
    found, *_ = scores({"a": FOUND["a"], "c": "(S x (Y y z))"})
    assert (2, 1, 1) == (found["sentences"], found["missing"], found["unjudged"])
    # b is not found: 2 of 2 found and 3 + 2 gold
    assert pytest.approx(100 * 2 * 2 / (2 + 5)) == found["f1"]


def test_bad_trees_are_told():
    def problem(found, gold=GOLD):
        with pytest.raises(UserError) as error:
            scores(found, gold)
        return str(error.value)

    other = problem({"b": "(S (NP she) (VP saw (NP a dog)))"})
    assert 'the tree "b" has other words than its gold tree; parse its words' in other
    assert "parse_trees('GOLD', field='tree', tokenized=True)" in other
    assert "no tree has the id of one in" in problem({"c": "(S she)"})
    assert "found:1: " in problem({"b": "(S (she)"})
    assert "there are no trees" in problem({})
    with pytest.raises(UserError, match='runs:2: id "a" is repeated'):
        list(score([{"id": "a", "tree": "(S x)"}] * 2, task="trees", gold=trees(GOLD)))


@pytest.mark.parametrize("parser", ["right-branching", "balanced", "builtin"])
def test_a_parser_reads_the_words_of_gold_trees(parser):
    gold = {**GOLD, "c": "(NP (-LRB- -LRB-) (NN x) (: 's.) (-NONE- *T*) (-RRB- -RRB-))"}
    records = [{"id": id_, "tree": tree} for id_, tree in gold.items()]
    parsing = {"parser": parser, "field": ["tree"], "tokenized": True}
    found = {record["id"]: record["tree"] for record in parse_trees(records, **parsing)}
    assert ("(", "x", "'s.", ")") == read_tree(found["c"]).words
    row, *baselines = scores(found, gold)
    twin = next((line for line in baselines if line["run"] == parser), None)
    assert twin is None or {**twin, "run": "found"} == row
