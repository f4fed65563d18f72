"""encode --quantize: what is stored, how it is read, and that it stays as it is."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import (
    MIN_INT8_NUMBER,
    BinaryRows,
    Int8Rows,
    Matrix,
    quantize,
)
from structkit.errors import UserError
from tests.searching.index_runs import written

KINDS = ("int8", "binary")


def rows_of(vectors, kind):
    codes, scales = quantize(vectors, kind)
    return BinaryRows(codes, vectors.shape[1]) if scales is None else Int8Rows(codes, scales)


def drawn(rows, dimensions):
    return np.random.default_rng(rows).normal(size=(rows, dimensions)).astype(np.float32)


def test_int8_by_hand():
    """254 / 127 is 2: codes are halves, rounded to even; the second row has a scale of its own."""
    vectors = np.array([[254, -254, 5, 0.9, 3], [-0.5, 0.25, 0, 0, 0]], np.float32)
    codes, scales = quantize(vectors, "int8")
    assert [[127, -127, 2, 0, 2], [-127, 63, 0, 0, 0]] == codes.tolist()
    assert scales is not None and 2 == scales[0]
    assert 0.5 / 127 <= scales[1] <= 0.5 / 127 * (1 + 2**-15)
    assert [254, -254, 4, 0, 4] == Int8Rows(codes, scales)[0:1][0].tolist()


def test_binary_by_hand():
    """Bits of 9 numbers: 10000001 1; zero and what is below it are 0."""
    vectors = np.array([[1, 0, -1, -0.0, 0, 0, -2, 3, 0.1]], np.float32)
    rows = rows_of(vectors, "binary")
    assert isinstance(rows, BinaryRows) and [[0b10000001, 0b10000000]] == rows.bits.tolist()
    third = np.float32(1) / np.float32(3)
    assert np.array_equal(np.where(vectors > 0, third, -third), rows[0:1])


FLOATS = st.floats(-(2.0**60), 2.0**60, width=32)


@given(st.lists(st.lists(FLOATS, min_size=5, max_size=5), min_size=1, max_size=6))
def test_no_number_is_off_by_more_than_half_a_step(rows):
    vectors = np.array(rows, np.float32)
    found = rows_of(vectors, "int8")[:]
    step = np.abs(vectors).max(axis=1, keepdims=True).astype(np.float64) / 127 * (1 + 2**-15)
    assert (np.abs(found - vectors.astype(np.float64)) <= step / 2 + MIN_INT8_NUMBER).all()


@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(st.lists(FLOATS, min_size=11, max_size=11), min_size=1, max_size=6))
def test_rows_written_again_or_alone_stay_as_they_are(kind, rows):
    vectors = np.array(rows, np.float32)
    codes, scales = quantize(vectors, kind)
    once = BinaryRows(codes, 11) if scales is None else Int8Rows(codes, scales)
    again, their_scales = quantize(once[:], kind)
    alone = [quantize(vectors[row : row + 1], kind) for row in range(len(rows))]
    assert codes.tobytes() == again.tobytes() == b"".join(each.tobytes() for each, _ in alone)
    if scales is not None:
        each_scale = b"".join(scale.tobytes() for _, scale in alone)
        assert scales.tobytes() == their_scales.tobytes() == each_scale


@pytest.mark.parametrize("kind", KINDS)
def test_some_rows_keep_their_form(kind):
    matrix = Matrix([rows_of(drawn(9, 16), kind), rows_of(drawn(5, 16), kind)])
    rows = np.array([0, 3, 8, 9, 13])
    assert {type(part) for part in matrix.take(rows).parts} == {type(matrix.parts[0])}
    np.testing.assert_array_equal(matrix[rows], matrix.take(rows)[0:5])
    mixed = rows[::-1].copy()
    np.testing.assert_array_equal(matrix[mixed], matrix.take(mixed)[0:5])


@pytest.mark.parametrize(
    ("kind", "dtype", "shape"), [("int8", "i1", (7, 12)), ("binary", "u1", (7, 2))]
)
def test_files(tmp_path, kind, dtype, shape):
    path = written(tmp_path / "v.npy", drawn(7, 12), kind)
    array = np.load(path)
    assert (dtype, shape) == (array.dtype.str[1:], array.shape)
    meta = json.loads((tmp_path / "v.meta.json").read_text())
    assert (7, 12, kind, str(array.dtype)) == tuple(
        meta[name] for name in ("count", "dim", "quantize", "dtype")
    )
    corpus = read_embeddings([path])
    assert 12 == corpus.dimensions
    np.testing.assert_array_equal(rows_of(drawn(7, 12), kind)[:], corpus.vectors[:])
    assert (kind == "int8") == (tmp_path / "v.scales.f32").exists()
    written(tmp_path / "v.npy", drawn(7, 12), None)  # nothing of codes is left
    assert not (tmp_path / "v.scales.f32").exists()
    np.testing.assert_array_equal(drawn(7, 12), read_embeddings([path]).vectors[:])


@pytest.mark.parametrize("kind", KINDS)
def test_shards_are_read_as_the_whole(tmp_path, kind):
    vectors, ids = drawn(9, 20), [str(number) for number in range(9)]
    whole = written(tmp_path / "whole.npy", vectors, kind, ids)
    parts = [
        written(tmp_path / f"{first}.npy", vectors[first : first + 3], kind, ids[first : first + 3])
        for first in (0, 3, 6)
    ]
    expected, together = read_embeddings([whole]), read_embeddings(parts)
    assert expected.ids == together.ids
    np.testing.assert_array_equal(expected.vectors[:], together.vectors[:])


def damaged(folder):
    """Each damage of 8-bit rows, done to a file, and what must be said."""
    meta, scales = folder / "v.meta.json", folder / "v.scales.f32"
    for number in (np.nan, np.inf, -1, 2e30):
        path = written(folder / "v.npy", drawn(3, 8), "int8")
        scales.write_bytes(np.array([1, number, 1], "<f4").tobytes())
        yield path, "v.scales.f32: is damaged: it does not hold 3 numbers of 4 bytes, 0 or more"
    scales.write_bytes(b"\0" * 11)
    yield path, "v.scales.f32: is damaged"
    scales.unlink()
    yield path, "v.scales.f32: "
    meta.write_text('{"count":3,"dim":8,"quantize":"binary"}')
    yield path, r"v.npy: holds int8 codes without their ranges"
    meta.unlink()
    yield path, r"v.npy: holds int8 codes without their ranges"
    path = written(folder / "v.npy", drawn(3, 8), "binary")
    for dim in ("9", "0", "-7", '"8"', "8.0", "null", "[8]", "1e400"):
        meta.write_text(f'{{"count":3,"dim":{dim},"quantize":"binary"}}')
        yield path, r"v.meta.json: (says .*, but the matrix is|cannot be read|is not what)"


def test_damaged_files_are_named(tmp_path):
    for path, message in damaged(tmp_path):
        with pytest.raises(UserError, match=message) as caught:
            read_embeddings([path])
        assert caught.value.remedy
