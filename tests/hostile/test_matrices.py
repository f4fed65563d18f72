"""Embeddings in .npy and .parquet, spoiled; saved indexes are in tests/searching."""

import struct

import numpy as np
import pytest
from hostile.good import IDS, ROWS, parquet, saved
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy

from structkit.embeddings.reading import read_embeddings
from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import VectorFiles
from structkit.errors import UserError

TABLE = [
    {"id": name, "embedding": row.tolist()} for name, row in zip(IDS.split(), ROWS, strict=True)
]


def read(path):
    """The rows of a file; None where it is refused."""
    try:
        found = read_embeddings([str(path)])
    except UserError as error:
        assert error.file and error.remedy
        return None
    assert len(found.ids) == found.vectors.shape[0]
    return found.vectors[:]


@examples(100)
@given(spoiled(saved()))
def test_spoiled_npy(tmp_path, data):
    (tmp_path / "a.npy").write_bytes(data)
    (tmp_path / "a.ids.txt").write_text(IDS)
    read(tmp_path / "a.npy")


def stored(folder, kind):
    """The files of three rows of codes."""
    with VectorFiles(str(folder / "a.npy"), quantize=kind) as files:
        files.add([EmbeddingRow(name) for name in IDS.split()], ROWS)
        files.finish({"quantize": kind})
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@examples(100)
@given(kind=st.sampled_from(["int8", "binary"]), data=st.data())
def test_spoiled_codes(tmp_path, kind, data):
    whole = stored(tmp_path, kind)
    name = data.draw(st.sampled_from(sorted(whole)))
    (tmp_path / name).write_bytes(data.draw(spoiled(whole[name])))
    found = read(tmp_path / "a.npy")
    assert found is None or found.dtype == np.float32 and np.isfinite(found).all()


@examples(60)
@given(spoiled(parquet(TABLE)))
def test_spoiled_parquet(tmp_path, data):
    (tmp_path / "a.parquet").write_bytes(data)
    read(tmp_path / "a.parquet")


NUMBERS = st.sampled_from(
    [-1, 0, 1, 3, 4, 12, 2**31, 2**40, 2**62, 2**63, 2**64, 10**30, True, "x"]
)
SHAPES = st.lists(NUMBERS, max_size=4).map(tuple) | NUMBERS
KINDS = st.sampled_from(["<f4", ">f4", "<f8", "|O", "V0", "V9", "f4,f4", "<U9", "<M8", "", "nope"])


@examples(100)
@given(SHAPES, KINDS, st.booleans(), st.sampled_from([1, 2, 3]), st.integers(0, 60))
def test_headers_that_lie(tmp_path, shape, kind, by_columns, version, length):
    header = f"{{'descr': {kind!r}, 'fortran_order': {by_columns}, 'shape': {shape}, }}".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    (tmp_path / "a.npy").write_bytes(npy.magic(version, 0) + size + header + bytes(length))
    (tmp_path / "a.ids.txt").write_text(IDS)
    found = read(tmp_path / "a.npy")
    assert found is None or found.nbytes <= 4 * length


@pytest.mark.parametrize(
    "header",
    [
        b"(" * 5_000,
        b"[" * 50_000 + b"]" * 50_000,
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"(" * 900 + b")" * 900 + b")}",
        b"-" * 9_000 + b"1",
        b"{'descr': __import__('os').system('touch run'), 'fortran_order': False, 'shape': (1, 1)}",
        b"9" * 9_000,
    ],
)
def test_headers_that_are_hostile(tmp_path, monkeypatch, header):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(npy.magic(2, 0) + struct.pack("<I", len(header)) + header)
    assert read(tmp_path / "a.npy") is None
    assert not (tmp_path / "run").exists()
