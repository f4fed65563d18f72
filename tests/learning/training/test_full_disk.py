"""A disk that is really full: nothing trained is lost, and nothing half-written stays."""

import os
import subprocess

import numpy as np
import pytest

from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import ParquetFile, VectorFiles
from structkit.errors import UserError
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train_method
from structkit.registry import load
from tests.jsonl import write

Method = load("method", "contrastive")
FULL = "cannot be written: No space left on device"


@pytest.fixture
def disk(tmp_path):
    """A function that gives a folder a size in bytes, at first or later."""
    place = tmp_path / "disk"

    def sized(size):
        again = ["-o", f"remount,size={size}"] if place.exists() else ["-o", f"size={size}"]
        place.mkdir(exist_ok=True)
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", *again, "x", place]).returncode:
            pytest.skip("only root may mount a small disk, and not everywhere")
        return place

    yield sized
    if os.path.ismount(place):
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def data(tmp_path):
    records = ({"query": f"a {n}", "positive": f"{n} b"} for n in range(8))
    return write(tmp_path / "data.jsonl", *records)


def run(folder, data, **options):
    method = Method(size="tiny", vocabulary_size=5000, batch_size=4, max_steps=2)
    return train_method("contrastive", method, [data], RunOptions(output=str(folder), **options))


def test_a_model_that_does_not_fit_leaves_the_last_checkpoint(disk, data, tmp_path):
    run(tmp_path / "plain", data)
    expected = (tmp_path / "plain" / "model.safetensors").read_bytes()
    folder = disk(5 * len(expected)) / "model"  # the checkpoint has Adam's moments, too
    rejects = tmp_path / "rejects.jsonl"
    options = {"on_error": "skip", "rejects": str(rejects), "save_every": 1}
    (folder.parent / "other").write_bytes(bytes(len(expected) * 3 // 2))
    with pytest.raises(UserError, match=FULL) as caught:
        run(folder, data, **options)
    assert str(folder) == caught.value.file
    assert "step-1" in os.listdir(f"{folder}.partial")
    assert not folder.exists() and not rejects.exists()
    (folder.parent / "other").unlink()
    run(folder, data, resume=True, **options)
    assert expected == (folder / "model.safetensors").read_bytes()
    assert b"" == rejects.read_bytes() and [folder.name] == os.listdir(folder.parent)


def test_a_disk_that_is_too_small_is_told_before_the_first_step(disk, data):
    folder = disk(1 << 18) / "model"
    with pytest.raises(UserError, match=f"model.partial: {FULL}; give "):
        run(folder, data)
    assert [] == os.listdir(folder.parent)


@pytest.mark.parametrize("kind", [VectorFiles, ParquetFile])
def test_vectors_that_do_not_fit_leave_nothing(disk, kind):
    rows = [EmbeddingRow(f"d{number}", f"d{number}", {}, "") for number in range(300)]
    folder = disk(128 * 1024)
    numbers = np.random.default_rng(0).random((300, 256), np.float32)
    ending = "npy" if kind is VectorFiles else "parquet"
    with (
        pytest.raises(UserError, match="No space left on device"),
        kind(str(folder / f"v.{ending}")) as files,
    ):
        files.add(rows, numbers)
        files.finish({})
    assert [] == os.listdir(folder)
