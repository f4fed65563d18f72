"""Embeddings that start from word vectors in a file, trained or frozen."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from structkit.errors import UserError
from structkit.learning.static import Table, static_word_vectors
from structkit.learning.strae.training import word_vectors
from structkit.registry import load
from tests.learning.strae import samples
from tests.learning.strae.samples import nested

TEXTS = ["the cat sleeps on the mat", "a dog barks and a cat sleeps", "the zebra never sleeps"] * 3
VECTORS = {"the": [1.0, 0.0], "cat": [0.5, -2.0], "dog": [0.25, 3.0]}
METHODS = {"strae": {"channels": 1}, "banyan": {"channels": 1}, "iornn": {}}


@pytest.fixture
def matrix(tmp_path):
    np.save(tmp_path / "vectors.npy", np.array(list(VECTORS.values()), np.float32))
    (tmp_path / "vectors.ids.txt").write_text("".join(word + "\n" for word in VECTORS))
    return str(tmp_path / "vectors.npy")


def in_text(file, header=""):
    lines = [f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in VECTORS.items()]
    file.write_text(header + "".join(lines))
    return str(file)


def trained(name, tmp_path, **values):
    values = {"embedding_size": 2, "epochs": 2, "batch_size": 4, **METHODS[name], **values}
    trees = [nested(text.split()) for text in TEXTS]
    return samples.trained(name, tmp_path / "model", trees, "tree", **values)


def test_all_forms_of_files_are_read(matrix, tmp_path):
    files = [
        matrix,
        in_text(tmp_path / "glove.txt"),
        in_text(tmp_path / "word2vec.vec", header="3 2\n"),
    ]
    for file in files:
        found = word_vectors(file, ["cat", "zebra", "the"])
        assert {0: [0.5, -2.0], 2: [1.0, 0.0]} == {row: found[row].tolist() for row in found}


@pytest.mark.parametrize("name", METHODS)
def test_words_have_the_vectors_of_the_file_and_frozen_ones_keep_them(
    name, matrix, tmp_path, capsys
):
    model = trained(name, tmp_path, init_embeddings=matrix, freeze_embeddings=True, quiet=False)
    table = model.model.embedding.detach().numpy()
    words = model.vocabulary.words
    for word in ("the", "cat", "dog"):
        assert VECTORS[word] == table[words.index(word)].tolist()
    missing = len(words) - 3
    said = f"{missing} of {len(words)} words are not in {matrix} and start at random"
    assert said in capsys.readouterr().err


@pytest.fixture
def static(tmp_path):
    """A table of token vectors, as `train static` writes it."""
    tokens = {"[UNK]": 0, **{word: 1 + row for row, word in enumerate(VECTORS)}}
    tokenizer = Tokenizer(models.WordLevel(tokens, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path / "static"
    folder.mkdir()
    rows = np.array([[9.0, 9.0], *VECTORS.values()], np.float32)
    Table(rows, tokenizer).write(folder, normalize=True)
    return folder


def test_a_static_model_gives_the_means_of_its_tokens(static, tmp_path):
    found = static_word_vectors(static, ["dog", "zebra", "cat-dog", "the"])
    expected = {0: [0.25, 3.0], 2: [0.375, 0.5], 3: [1.0, 0.0]}  # "-" is no token: the mean of two
    assert expected == {row: found[row].tolist() for row in found}
    model = trained("banyan", tmp_path, init_embeddings=str(static), freeze_embeddings=True)
    words, table = model.vocabulary.words, model.model.embedding.detach().numpy()
    assert VECTORS["cat"] == table[words.index("cat")].tolist()
    assert np.abs(table[0]).max() <= 0.1  # the unknown word starts at random
    with pytest.raises(UserError, match="static: has none of the words of the records"):
        word_vectors(str(static), ["<unk>", "zebra"])
    with pytest.raises(UserError, match="holds no table of token vectors; name a folder"):
        static_word_vectors(tmp_path, ["cat"])


def test_words_that_are_not_frozen_learn(matrix, tmp_path):
    model = trained("banyan", tmp_path, init_embeddings=matrix, learning_rate=0.01)
    found = model.model.embedding.detach().numpy()[model.vocabulary.words.index("cat")]
    assert 0 < np.abs(found - VECTORS["cat"]).max() < 0.2


def test_random_embeddings_start_within_the_range(tmp_path):
    first, narrow = (
        trained("banyan", tmp_path / f"{r}", init_range=r, learning_rate=1e-9).model.embedding
        for r in (0.1, 1e-4)
    )
    assert 1e-5 < narrow.abs().max() <= 1.001e-4
    np.testing.assert_allclose(first.detach() / 1000, narrow.detach(), rtol=0.02, atol=1e-7)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 1 2\ncat 1\n", r":2: is not a vector of 2 numbers; write a word and its numbers"),
        ("the 1 2\ncat\n", r":2: is not a vector of 2 numbers; write a word and its numbers"),
        ("the 1 2\ncat 1 nan\n", ":2: is not a vector of 2 numbers"),
        ("zebu 1 2\n", "has none of the words of the records"),
        ("the 1 2 3\n", "has vectors of 3 numbers, but embeddings have 2; use --embedding"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(content, message, tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text(content)
    with pytest.raises(UserError, match=message):
        trained("strae", tmp_path, init_embeddings=str(file))
    with pytest.raises(UserError, match="x: cannot be read"):  # no name is so long
        trained("strae", tmp_path, init_embeddings="x" * 5_000)


def test_pieces_have_no_vectors(matrix):
    with pytest.raises(UserError, match="--init-embeddings and --subwords exclude each other"):
        load("method", "self-strae")(init_embeddings=matrix, subwords=True)
