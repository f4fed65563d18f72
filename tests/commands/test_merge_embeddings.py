"""merge-embeddings: what may be joined is, and what may not is named."""

import json

import numpy as np
import pytest

from structkit import merge_embeddings
from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import VectorFiles
from structkit.errors import UserError


def written(tmp_path, name, ids, *, fields=False, dim=2, quantize=None, **meta):
    path = str(tmp_path / name)
    vectors = np.arange(len(ids) * dim, dtype="float32").reshape(-1, dim) + len(name)
    with VectorFiles(path, fields=fields, quantize=quantize) as files:
        rows = [EmbeddingRow(each, fields={"place": each}) for each in ids]
        files.add(rows, vectors)
        files.finish({"model_sha256": "x", **({"quantize": quantize} if quantize else {}), **meta})
    return path


@pytest.mark.parametrize("fields", [False, True])
def test_files_one_behind_the_other(run, tmp_path, fields):
    paths = [
        written(tmp_path, "a.npy", ["1", "2"], fields=fields),
        written(tmp_path, "bb.npy", ["3"], fields=fields),
    ]
    done = run("merge-embeddings", *paths, "-o", "all.npy")
    assert {"file": "all.npy", "embeddings": 3} == json.loads(done.stdout), done.stderr
    assert "1\n2\n3\n" == (tmp_path / "all.ids.txt").read_text()
    expected = np.concatenate([np.load(path) for path in paths])
    np.testing.assert_array_equal(expected, np.load(tmp_path / "all.npy"))
    meta = json.loads((tmp_path / "all.meta.json").read_text())
    assert ("x", 3, 2) == (meta["model_sha256"], meta["count"], meta["dim"])
    assert fields == (tmp_path / "all.fields.jsonl").exists()
    if fields:
        assert 3 == (tmp_path / "all.fields.jsonl").read_text().count("place")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"ids": ["2"]}, 'bb.npy: id "2" is repeated'),
        (
            {"ids": ["3"], "model_sha256": "y"},
            "bb.npy: was encoded with another model_sha256 than .*a.npy",
        ),
        ({"ids": ["3"], "pooling": "cls"}, "bb.npy: was encoded with another pooling"),
        ({"ids": ["3"], "quantize": "int8"}, "bb.npy: .* another (quantize|dtype)"),
        ({"ids": ["3"], "dim": 3}, "bb.npy: has 3 dimensions, but .* has 2"),
        ({"ids": ["3"], "fields": True}, "some files have fields, others have none"),
    ],
)
def test_what_does_not_fit(tmp_path, second, message):
    paths = [written(tmp_path, "a.npy", ["1", "2"]), written(tmp_path, "bb.npy", **second)]
    with pytest.raises(UserError, match=message):
        merge_embeddings(paths, output=str(tmp_path / "all.npy"))
    assert not list(tmp_path.glob("*all*"))


def test_wrong_files(tmp_path):
    path = written(tmp_path, "a.npy", ["1"])
    with pytest.raises(UserError, match="x.jsonl is not a .npy file"):
        merge_embeddings(["x.jsonl"], output=path)
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    with pytest.raises(UserError, match=r"loop.*: cannot be read"):
        merge_embeddings([str(tmp_path / "loop.npy")], output=str(tmp_path / "all.npy"))
