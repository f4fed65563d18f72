"""Self-StrAE: greedy merging of whole batches against one sentence at a time; the parser."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit import parse_trees
from structkit.errors import UserError
from structkit.learning.encoders.encoder import open_model
from structkit.learning.encoding.encoding import TextReader
from structkit.structure.trees.brackets import read_tree
from tests.learning.strae import reference_strae as reference
from tests.learning.strae.samples import model, plain, sample, trained
from tests.tolerances import bound, rounding

LINES = ["The cat sleeps on the mat.", "A dog barks.", "Stop", "The dog (a cat) sleeps, and barks."]


def shape(node):
    """A reference node's tree, as leaf depths."""
    if not node.children:
        return [0]
    return [depth + 1 for child in node.children for depth in shape(child)]


@settings(max_examples=15)
@given(st.integers(0, 1 << 30), st.lists(st.integers(1, 25), min_size=1, max_size=6))
def test_trees_are_those_of_one_sentence_at_a_time(seed, lengths):
    _, sentences = sample(seed, lengths)
    fast = model(seed)
    found = fast.make_trees(sentences)
    values = plain(fast)
    for sentence, tree in zip(sentences, found, strict=True):
        assert shape(reference.greedy(sentence.ids.tolist(), values)) == tree.depths.tolist()


def test_of_equal_pairs_the_leftmost_is_merged():
    _, (sentence,) = sample(7, [3])
    sentence.ids[:] = 3
    assert [2, 2, 1] == model(7).make_trees([sentence])[0].depths.tolist()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("models")
    small = {"epochs": 2, "batch_size": 5, "embedding_size": 20, "channels": 5}
    for name, changes in (("words", {}), ("pieces", {"subwords": True, "vocabulary_size": 400})):
        trained("self-strae", base / name, LINES * 3, **small, **changes, final_punct="keep")
    return base


def test_the_parser_writes_the_trees_of_the_model(run, folders):
    flags = ("--parser", "self-strae", "-m", folders / "words")
    found = run("parse-trees", folders / "texts.jsonl", *flags)
    assert (0, b"") == (found.returncode, found.stderr)
    trees = [read_tree(json.loads(line)["tree"]) for line in found.stdout.splitlines()]
    words = ("The", "dog", "(", "a", "cat", ")", "sleeps", ",", "and", "barks", ".")
    assert words == trees[3].words
    assert [("Stop",)] * 3 == [tree.words for tree in trees[2::4]]
    assert all(tree.is_binary for tree in trees)
    model, _ = open_model(str(folders / "words"))
    (alone,) = model.trees([trees[0].words])
    assert trees[0].spans().tolist() == alone.spans().tolist()


def test_leaves_may_be_pieces(folders):
    model, _ = open_model(str(folders / "pieces"))
    (tree,) = model.trees([["The", "unseen", "Catbird"]])
    assert "TheunseenCatbird" == "".join(tree.words).replace("▁", "")
    assert len(tree.words) > 3 and tree.is_binary


def test_a_model_is_needed():
    with pytest.raises(
        UserError, match=r"needs model; make one with structkit\.train\('self-strae'\)"
    ):
        parse_trees([], parser="self-strae")
    told = "model='no' is not a model that makes trees; make one with"
    with pytest.raises(UserError, match=told):
        list(parse_trees([{"id": "1", "text": "a"}], parser="self-strae", model="no"))


def test_texts_and_trees_of_the_same_words_embed_alike(folders):
    model, _ = open_model(str(folders / "words"))
    texts = ["The cat sleeps.", "(X (X (X The) (X cat)) (X (X sleeps) (X .)))", "(laughs)"]
    one, other, laughs = model.embed(model.batch(model.inputs(texts)))
    # at each of the words a sum over the numbers of both children
    near = bound(4 * 2 * len(one), one.abs().max().item())
    assert (one - other).abs().max() <= near
    assert (one - laughs).abs().max() > 10 * near
    assert [4, 4, 3] == [len(each) for each in model.inputs(texts)]


def test_text_in_brackets_loses_no_word(folders):
    model, _ = open_model(str(folders / "words"))
    texts = ["(Laughs (quietly now) again)", "(Laughs (quietly) (now))", "((a b) (c d))"]
    assert [8, 9, 10] == [len(each) for each in model.inputs(texts)]
    record = {"id": "1", "tree": "(S (NP (DT a) (NN cat)) (VP sleeps))"}
    (text,) = TextReader(model, (), ("text", "tree")).texts(record)
    assert 3 == len(model.inputs([text])[0])


def test_a_text_may_be_the_mean_of_its_words(folders):
    model, _ = open_model(str(folders / "words"), pooling="mean")
    inputs = model.inputs(["the cat sleeps", "dog"])
    words = model.inputs(["the", "cat", "sleeps", "dog"])
    with torch.inference_mode():
        one, other = model.embed(inputs)
        each = model.embed(words)
    near = rounding(3, each.abs().max().item())
    torch.testing.assert_close(one, each[:3].mean(0), **near)
    torch.testing.assert_close(other, each[3], **near)
    with pytest.raises(UserError, match="a tree model has no pooling cls; use --pooling mean"):
        open_model(str(folders / "words"), pooling="cls")
