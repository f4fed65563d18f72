"""The parser that ships: one tree per text in order, with its words, whatever the text is."""

from pathlib import Path

import orjson
import pytest
from imported import imported
from structkit_plugins.parsers.builtin import BUNDLED_FOLDER

from experiments.span_parser import Method
from structkit import parse_trees
from structkit.commands.score.trees import binarized_spans, f1, span_counts
from structkit.errors import UserError
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.records.jsonl import Records
from structkit.structure.trees import brackets as trees
from structkit.structure.trees.words import words_of
from tests.structure.trees.parsed import parsed_texts

# sentences of our own; where the data is beside structkit, of GUM too
GOLD = [Path("fixtures/trees/gold.mrg"), *Path("../shared/data/trees").glob("gum_dev.jsonl.gz")]
WEIGHTS = Path("plugins/parsers/weights")


def spans(tree):
    return {(start, end) for start, end in tree.spans().tolist() if end - start > 1}


def parsed(text):
    (tree,) = parsed_texts("builtin", [text])
    return tree


def test_a_plain_sentence_has_its_constituents():
    tree = parsed("He bought the old house in London.")
    assert tree.words == ("He", "bought", "the", "old", "house", "in", "London", ".")
    # the verb phrase, the noun phrase and the prepositional phrase
    assert {(1, 7), (2, 5), (5, 7)} <= spans(tree)


@pytest.mark.parametrize("text", ["Go", "Go !", ".", "🐈", "a\u200bb", "(", "-LRB-"])
def test_one_word_or_two_need_no_parser(text):
    tree = parsed(text)
    assert list(tree.words) == words_of(text)
    assert spans(tree) == ({(0, 2)} if len(tree.words) == 2 else set())


def test_neither_torch_nor_nltk_is_needed():
    text = b'{"id": "1", "text": "The old cat sat on the mat."}\n'
    heavy, output = imported("parse-trees", "-q", input=text)
    assert not heavy & {"torch", "transformers", "nltk"}
    assert b"(X (X The) (X (X old) (X cat)))" in output


def test_a_text_without_words_is_an_error_in_its_place():
    found = parsed_texts("builtin", ["It rains.", " \u2003 ", "", "It snows."])
    assert [isinstance(tree, UserError) for tree in found] == [False, True, True, False]
    with pytest.raises(UserError, match="empty"):
        list(parse_trees([{"id": "1", "text": " "}]))


@pytest.mark.parametrize(
    "text", ["word " * 2000, "It rained , and it snowed . " * 286, ", " * 2000, "A b-c " * 1000]
)
def test_two_thousand_words(text):
    found = parsed(text)
    assert (0, 511) in spans(found) or "rained" not in text  # 73 sentences of 7 words: a cut
    tree = trees.binarize(found)
    assert len(tree.words) >= 2000 and tree.is_binary


def test_a_model_of_ones_own(tmp_path):
    tree = "(S (NP (DT the) (NN cat)) (VP (VB sat)) (. .))"
    file, model = tmp_path / "trees.jsonl", str(tmp_path / "model")
    file.write_bytes(b"\n".join(orjson.dumps({"id": str(at), "tree": tree}) for at in range(8)))
    options = RunOptions(output=model, quiet=True)
    train_method("span-parser", Method(epochs=40, batch_size=8), [str(file)], options)
    record = {"id": "1", "text": "the cat sat ."}
    (found,) = parse_trees([record], parser="builtin", model=model, binarize=False)
    assert found["tree"] == "(X (X (X the) (X cat)) (X sat) (X .))"


def test_a_folder_without_a_parser_is_refused(tmp_path):
    with pytest.raises(UserError, match="is not a model of a parser; name one"):
        parsed_texts("builtin", ["It rains."], model=str(tmp_path))


def test_the_weights_are_small_and_say_what_they_are_made_of():
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) <= 4_000_000
    licence = (WEIGHTS / "LICENSE.txt").read_text("utf-8")
    assert "CC BY-SA" in licence and "GUM" in licence
    assert {path.name for path in BUNDLED_FOLDER.iterdir()} >= {
        "model.safetensors",
        "vocabulary.json",
    }


def gold_trees(path):
    if path.suffix == ".mrg":
        return [trees.clean(tree) for tree in trees.read_trees(path.read_text("utf-8"))]
    return [trees.clean(trees.read_tree(each["tree"])) for each in Records.read([str(path)])]


@pytest.mark.parametrize("path", GOLD, ids=lambda path: path.name)
def test_trees_agree_with_gold_trees(path):
    gold = gold_trees(path)
    gold = gold[:1000:10] if len(gold) > 1000 else gold
    texts = [" ".join(tree.words) for tree in gold]

    def score(name):
        found = parsed_texts(name, texts, tokenized=True)
        return f1(span_counts(zip(found, gold, strict=True), binarized_spans).sum(0))

    assert score("builtin") > 70 > 4 * score("right-branching")
