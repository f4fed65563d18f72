"""What the papers count: shares by hand."""

import math
import sys

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from experiments import counts
from tests.jsonl import write


def ran(monkeypatch, *words):
    """Run the script with these words."""
    monkeypatch.setattr(sys, "argv", ["counts", *map(str, words)])
    counts.main()


def test_an_entity_is_counted_wherever_it_stands(tmp_path, monkeypatch):
    """`def f(a): return a`: f, a, a are entities, beside two keywords and three marks."""
    masked = "def <extra_id_0>(<extra_id_1>): return <extra_id_1>"
    write(tmp_path / "python.jsonl", {"id": "1", "masked": masked, "entities": ["f", "a"]})
    ran(monkeypatch, "entities", tmp_path / "python.jsonl", "-o", tmp_path / "t.md")
    assert "| python | 1 | 2.0 | 60.0% | 37.5% | 28.6% |" in (tmp_path / "t.md").read_text()


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("(S (A a) (S (B b) (S (C c) (D d))))", "4.0 [4.0, 4.0] | 3.0 [3.0, 3.0] | 100.0% |"),
        ("(S (S (S (A a) (B b)) (C c)) (D d))", "4.0 [4.0, 4.0] | 3.0 [3.0, 3.0] | 0.0% |"),
        # nodes of equal parts count for neither side
        (
            "(S (S (A a) (S (B b) (C c))) (S (S (D d) (E e)) (F f)))",
            "6.0 [6.0, 6.0] | 3.0 [3.0, 3.0] | 50.0% |",
        ),
    ],
)
def test_depth_is_in_edges_and_the_longer_side_counts(tree, expected, tmp_path, monkeypatch):
    write(tmp_path / "trees.jsonl", {"id": "1", "tree": tree}, {"id": "2", "tree": "(S a)"})
    ran(monkeypatch, "shapes", tmp_path / "trees.jsonl", "-o", tmp_path / "t.md")
    assert f"| trees | 1 | {expected}" in (tmp_path / "t.md").read_text()


def test_the_probability_is_that_of_the_queries_own_document(tmp_path, monkeypatch):
    """At any temperature, one of two equal scores has a half; what was not found has nothing."""
    (tmp_path / "sda@0").mkdir()
    found = [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2"), ("3", "1")]
    rows = [
        {"query_id": query, "doc_id": document, "score": 1.0, "rank": at}
        for at, (query, document) in enumerate(found, 1)
    ]
    write(tmp_path / "sda@0" / "python.jsonl", *rows)
    file = tmp_path / "sda@0" / "python.jsonl"
    ran(monkeypatch, "probabilities", file, "-o", tmp_path / "t.md")
    line = (tmp_path / "t.md").read_text().splitlines()[-1]
    assert line.startswith("| sda | 3 | 0.333 [")
    assert line.endswith("| 0.250 | 0.500 |")


def test_a_token_is_guessed_by_its_frequency_in_the_other_half(tmp_path, monkeypatch):
    """Of `a a`, with one more of each: a has 3 of 5, b 1. A sentinel is known, and counts."""
    tokenizer = Tokenizer(WordLevel({"a": 0, "b": 1, "<extra_id_0>": 2}))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    targets = [f"<extra_id_0> {each}" for each in ("a a", "a b")]
    write(
        tmp_path / "c.jsonl", *({"id": str(at), "target": each} for at, each in enumerate(targets))
    )
    ran(monkeypatch, "unigram", tmp_path, tmp_path / "c.jsonl", "-o", tmp_path / "t.md")
    loss = -(math.log(3 / 5) + math.log(1 / 5)) / 3
    assert f"| c | 3 | 2 | {loss:.2f} |" == (tmp_path / "t.md").read_text().splitlines()[-1]
