"""Embeddings that are no numbers are refused where they are made and where they are read."""

import shutil

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from safetensors.torch import load_file, save_file

from structkit.embeddings.pairs import read_pairs
from structkit.embeddings.reading import read_embeddings, read_parquet
from structkit.errors import UserError
from structkit.learning.encoding.encoding import check_finite
from tests.jsonl import write
from tests.model_encodings import TEXTS, records

TOLD = b'broken/model.safetensors: the model\'s embeddings of the record "d0" hold NaN or infinity'


@pytest.fixture
def broken(model, tmp_path):
    """A model whose weights are not finite."""
    folder = tmp_path / "broken"
    shutil.copytree(model, folder)
    weights = load_file(folder / "model.safetensors")
    largest = max(weights, key=lambda name: weights[name].numel())
    weights[largest][:] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.long
def test_weights_that_are_not_finite_write_nothing(here, broken, tmp_path):
    write(tmp_path / "texts.jsonl", *records(TEXTS[:3], query="a"))
    before = sorted(tmp_path.iterdir())
    for flags in (
        ["-o", "v.npy"],
        ["--field", "text", "--field", "query"],
        ["--chunk", "4", "-o", "v.jsonl"],
    ):
        done = here("encode", "-m", broken, "--engine", "torch", *flags, "texts.jsonl")
        assert 1 == done.returncode, flags
        assert TOLD in done.stderr, flags
        assert not done.stdout
        assert before == sorted(tmp_path.iterdir()), flags
    write(tmp_path / "corpus.jsonl", {"id": "a", "embedding": [1.0] * 64})
    queries = ("--queries", "texts.jsonl", "--engine", "torch")
    done = here("search", "corpus.jsonl", "-m", broken, *queries)
    assert 1 == done.returncode
    assert TOLD in done.stderr


def test_the_record_of_an_embedding_that_is_not_finite_is_named(tmp_path):
    told = 'model.safetensors: the model.s embeddings of the record "2" hold NaN or infinity; train'
    with pytest.raises(UserError, match=told):
        check_finite(["1", "2"], np.array([[1, 1], [1, np.inf]]), tmp_path)


def test_embeddings_that_are_not_finite_are_refused_in_files_and_pairs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    np.save("v.npy", np.array([[1, 1], [1, np.inf], [1, 1]], "f4"))
    (tmp_path / "v.ids.txt").write_text("a\nb\nc\n")
    pair = {"text_a_embedding": [1, 2], "text_b_embedding": [1, None], "score": 1}
    write(tmp_path / "p.jsonl", pair)
    for read, told in (
        (lambda: read_embeddings(["v.npy"]), "v.npy: row 2 holds NaN, infinity"),
        (lambda: read_pairs(["p.jsonl"]), 'p.jsonl:1: field "text_b_embedding" is not a list'),
    ):
        with pytest.raises(UserError, match=told):
            read()


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"id": ["a"]}, "holds 1 rows of id, not id and embedding"),
        ({"id": ["a", "b"], "embedding": [[1.0], [1.0, 2.0]]}, "not a list of as many floats"),
        ({"id": ["a"], "embedding": [None]}, "not a list of as many floats"),
        ({"id": ["a"], "embedding": ["x"]}, "not a list of as many floats"),
        ({"id": ["a", "a"], "embedding": [[1.0], [2.0]]}, 'v.parquet:2: id "a" is repeated'),
        ({"id": ["a"], "embedding": [[float("nan")]]}, "row 1 holds NaN"),
        (None, r"cannot be read: "),
    ],
)
def test_parquet_that_holds_no_embeddings(tmp_path, columns, told):
    path = tmp_path / "v.parquet"
    path.write_bytes(b"x")
    if columns:
        parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(UserError, match=told) as caught:
        read_embeddings([str(path)])
    assert str(path) == caught.value.file


@pytest.mark.parametrize("name", ["embedding", "vector"])  # ours, Pyserini's
def test_parquet_of_lists_of_one_length_and_64_bits(name, tmp_path):
    wide = pyarrow.array([[1.0, 2.0]], pyarrow.list_(pyarrow.float64(), 2))
    parquet.write_table(pyarrow.table({"id": ["a"], name: wide}), tmp_path / "v.parquet")
    assert [[1.0, 2.0]] == read_parquet(str(tmp_path / "v.parquet")).vectors[:1].tolist()


def test_npz_and_what_only_looks_like_a_matrix(tmp_path):
    np.savez(tmp_path / "v.npz", a=np.ones((2, 2)))
    shutil.copy(tmp_path / "v.npz", tmp_path / "z.npy")
    np.save(tmp_path / "o.npy", np.array([["x", {}]], object), allow_pickle=True)
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY\x01\x00")
    for name in ("v.npz", "z.npy", "o.npy", "t.npy"):
        with pytest.raises(UserError, match=f"{name}: cannot be read: ") as caught:
            read_embeddings([str(tmp_path / name)])
        assert "allow_pickle" not in str(caught.value)
