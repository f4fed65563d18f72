"""An embedding for every node: against the plain version of StrAE, node by node."""

import numpy as np
import orjson
import pytest
import torch

from structkit import registry
from structkit.commands.encode import write_embeddings
from structkit.errors import UserError
from structkit.learning.strae.training import TreeEncoder
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.records.stream import Stream
from tests.learning.strae import reference_strae as reference
from tests.learning.strae import samples
from tests.learning.strae.samples import TREES
from tests.model_encodings import encoding_of
from tests.tolerances import rounding

WORDS = ["the", "black", "cat", "sleeps"]
KINDS = ("words", "phrases")


def encoder(name, vocabulary):
    chosen = registry.load("method", name)(embedding_size=4, channels=2)
    return TreeEncoder(chosen, chosen.make_model(len(vocabulary)), vocabulary).eval()


def prepared(model, texts):
    return [model.prepared(text) for text in texts]


def test_nodes_are_numbered_from_the_root_and_have_upward_embeddings():
    model = encoder("strae", Vocabulary(["<unk>", *WORDS]))
    found = list(model.nodes(prepared(model, TREES), "nodes", 3))
    expected = "The black cat sleeps; The black cat; sleeps; The; black cat; black; cat"
    assert expected.split("; ") == [record["text"] for record in found[0]]
    spans = [[0, 4], [0, 3], [3, 4], [0, 1], [1, 3], [1, 2], [2, 3]]
    assert spans == [record["span"] for record in found[0]]
    assert [7, 1, 3] == [len(records) for records in found]
    assert list(range(7)) == [record["node"] for record in found[0]]

    weights = {name: weight.double() for name, weight in model.model.named_parameters()}
    root = reference.both_ways(((0, (1, 2)), 3), [1, 2, 3, 4], weights | {"channels": 2})
    nodes = [*root.children, *root.children[0].children, *root.children[0].children[1].children]
    nodes.insert(0, root)
    for node, record in zip(nodes, found[0], strict=True):
        expected = node.up.detach().reshape(-1).numpy()
        near = rounding(len(nodes), np.abs(expected).max())  # as many steps
        np.testing.assert_allclose(record["embedding"], expected, **near)
    words, phrases = (list(model.nodes(prepared(model, TREES), which, 100)) for which in KINDS)
    assert ["sleeps", "The", "black", "cat"] == [record["text"] for record in words[0]]
    assert ["The black cat sleeps", "The black cat", "black cat"] == [r["text"] for r in phrases[0]]
    assert [["cat"], []] == [[r["text"] for r in each[1]] for each in (words, phrases)]
    whole = model.embed(model.inputs(TREES))
    for vector, records in zip(whole.tolist(), found, strict=True):
        np.testing.assert_allclose(vector, records[0]["embedding"], **near)


def composed(model, left, right):
    """The parent of two embeddings, from the parameters alone."""
    if hasattr(model, "entangle"):
        of_left, of_right, bias = model.composition()
        return left * of_left + right * of_right + bias
    rows = torch.cat([left.view(2, 2), right.view(2, 2)], 1)
    return model.compose(rows).reshape(-1)


@pytest.mark.parametrize("name", ["self-strae", "self-strae-plus", "banyan"])
def test_nodes_of_trees_that_the_model_makes(name):
    texts = ["The black cat sleeps", "cat"]
    model = encoder(name, Vocabulary(["<unk>", *WORDS]))
    nodes, single = model.nodes(prepared(model, texts), "nodes", 3)
    up = {tuple(node["span"]): torch.tensor(node["embedding"]) for node in nodes}
    assert 7 == len(nodes) and {(0, 4), (0, 1), (1, 2), (2, 3), (3, 4)} <= set(up)
    table = model.model.embedding.detach()
    for word in range(4):
        assert torch.equal(table[word + 1], up[word, word + 1])
    for start, end in up:
        if end - start > 1:
            cut = next(at for at in range(start + 1, end) if {(start, at), (at, end)} <= set(up))
            parent = composed(model.model, up[start, cut], up[cut, end]).detach()
            near = rounding(8, float(parent.abs().max()))
            np.testing.assert_allclose(up[start, end], parent, **near)
    root = next(node for node in nodes if node["span"] == [0, 4])
    for vector, of_text in zip(model.embed(model.inputs(texts)), (root, single[0]), strict=True):
        np.testing.assert_allclose(vector.tolist(), of_text["embedding"], **near)


@pytest.mark.parametrize("name", ["strae", "self-strae"])
def test_pieces_of_words_are_neither_words_nor_phrases(name):
    vocabulary = Vocabulary.of([WORDS * 20, ["sleepy"]], subwords=True, size=24)
    model = encoder(name, vocabulary)
    text = TREES[0] if name == "strae" else "The black cat sleeps"
    records = prepared(model, [text])
    (found,) = model.nodes(records, "nodes", 100)
    leaves = sum(map(len, vocabulary.ids(WORDS)))
    assert leaves > 4  # some words have pieces
    assert 2 * leaves - 1 == len(found)
    assert ([0, 4], "The black cat sleeps") == (found[0]["span"], found[0]["text"])
    (words,), (phrases,) = (model.nodes(records, each, 100) for each in ("words", "phrases"))
    assert {record["text"] for record in words} <= {"The", "black", "cat", "sleeps"}
    if name == "strae":  # the pieces of a word are one subtree
        assert 4 == len(words)
        assert 3 == len(phrases)
    assert {record["node"] for record in words + phrases} < {record["node"] for record in found}


@pytest.fixture
def trained(tmp_path):
    """A file of trees, and a model that knows their words."""
    model = tmp_path / "model"
    samples.trained("strae", model, TREES, "tree", max_steps=0, minimum_count=1)
    return str(tmp_path / "texts.jsonl"), str(model)


def test_nodes_are_records_with_the_ids_of_their_texts(trained, tmp_path, capsys):
    (texts, model), target = trained, tmp_path / "nodes.jsonl"
    encoding = encoding_of(model, "document", keep=["tree"], rows="phrases")
    capsys.readouterr()
    write_embeddings(encoding, Stream([texts], str(target)))
    told = "structkit: texts without phrases, and so without a row: 1\n"
    assert told == capsys.readouterr().err
    found = [orjson.loads(line) for line in target.read_bytes().splitlines()]
    expected = [("0", [0, 4]), ("0", [0, 3]), ("0", [1, 3]), ("2", [0, 2])]
    assert expected == [(record["doc_id"], record["span"]) for record in found]
    assert ["0#0", "0#1", "0#4", "2#0"] == [record["id"] for record in found]
    names = ["id", "doc_id", "embedding", "tree", "node", "span", "text"]
    assert names == list(found[0])


def test_a_text_without_a_tree_is_told_where_trees_come_from(trained, tmp_path):
    text = samples.write_records(tmp_path / "text.jsonl", ["the cat"])
    told = "has none of the fields tree .* add it with structkit parse-trees; or"
    with pytest.raises(UserError, match=told):
        write_embeddings(encoding_of(trained[1], "document"), Stream([str(text)], "-"))
