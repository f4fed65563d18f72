"""Ids beside vectors: as other programs write them, or refused with their place."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from structkit.embeddings.reading import id_line, read_embeddings
from structkit.errors import UserError

ROWS = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("ids", "doc_ids"),
    [
        (b"a\r\nb\r\nc\r\n", None),
        (b"\xef\xbb\xbfa\nb\nc\n", None),
        (b"\xef\xbb\xbfa\r\nb\r\nc", None),
        (b"a\nb\nc\n", b"\xef\xbb\xbfx\r\nx\r\ny\r\n"),
    ],
)
def test_files_of_windows_are_read(tmp_path, ids, doc_ids):
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "v.ids.txt").write_bytes(ids)
    if doc_ids:
        (tmp_path / "v.doc_ids.txt").write_bytes(doc_ids)
    found = read_embeddings([str(tmp_path / "v.npy")])
    expected = (["a", "b", "c"], ["x", "x", "y"] if doc_ids else ["a", "b", "c"])
    assert (found.ids, found.doc_ids) == expected


@pytest.mark.parametrize("name", ["a\n", "a\rb", "\ufeffa", "a\u2028b"])
def test_an_id_that_a_file_cannot_hold_is_refused(name):
    with pytest.raises(UserError, match="holds a line break|begins with a byte order mark"):
        id_line(name)


def write(path, **columns):
    parquet.write_table(pa.table({"embedding": [*ROWS], **columns}), path)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([b"1", b"2", b"3"]),
        pa.array([1, 2, 3]),
        pa.array(["1", "2", "3"], pa.large_string()),
        pa.array(["1", "2", "3"]).dictionary_encode(),
    ],
)
def test_ids_of_parquet_are_texts(tmp_path, ids):
    write(tmp_path / "v.parquet", id=ids, doc_id=ids)
    found = read_embeddings([str(tmp_path / "v.parquet")])
    assert found.ids == found.doc_ids == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("ids", "row", "problem"),
    [
        (["a", None, "c"], 2, 'field "{}" is a JSON null'),
        ([1.0, 2.5, 3.0], 1, 'field "{}" is a JSON number'),
        ([True, False, True], 1, 'field "{}" is a JSON'),
        ([["a"], ["b"], ["c"]], 1, 'field "{}" is a JSON array'),
        ([b"a", b"b", b"\xff"], 3, "not UTF-8"),
    ],
)
@pytest.mark.parametrize("name", ["id", "doc_id"])
def test_other_ids_of_parquet_are_refused_with_their_row(tmp_path, name, ids, row, problem):
    write(tmp_path / "v.parquet", **({"id": ["a", "b", "c"]} | {name: ids}))
    with pytest.raises(UserError) as refused:
        read_embeddings([str(tmp_path / "v.parquet")])
    assert refused.value.line == row and problem.format(name) in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([[1.0, 2.0], [1.0], [1.0, 2.0]], 2),
        ([[1.0, 2.0], [1.0, 2.0], None], 3),
        ([[1.0, 2.0], [1.0, None], [1.0, 2.0]], 2),
        ([[], [], []], 1),
        ([None, [1.0], [1.0]], 1),
    ],
)
def test_vectors_of_parquet_are_refused_with_their_row(tmp_path, rows, row):
    write(tmp_path / "v.parquet", id=["a", "b", "c"], embedding=pa.array(rows))
    with pytest.raises(UserError, match="not a list of as many floats") as refused:
        read_embeddings([str(tmp_path / "v.parquet")])
    assert refused.value.line == row
