"""A disk that is really full: nothing trained is lost, and nothing half-written stays."""

import os
import subprocess

import numpy as np
import pytest

from structkit.embeddings.vectors import EmbeddingRow
from structkit.embeddings.writing import ParquetFile, VectorFiles
from structkit.errors import UserError
from structkit.learning.training.method import RunOptions
from structkit.learning.training.run import train
from structkit.learning.training.run_folder import ENTRY, SLACK
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
    return train("contrastive", method, [data], RunOptions(output=str(folder), **options))


def test_the_trained_weights_are_kept_and_resumed(disk, data, tmp_path):
    plain = run(tmp_path / "plain", data)
    expected = (tmp_path / "plain" / "model.safetensors").read_bytes()
    # enough for the room that is kept, not for the model beside it
    folder = disk(len(expected) + 200 * ENTRY + SLACK + len(expected) // 3) / "model"
    rejects = tmp_path / "rejects.jsonl"
    with pytest.raises(UserError, match=FULL) as caught:
        run(folder, data, on_error="skip", rejects=str(rejects))
    assert f"the trained weights are in {folder}.partial" in caught.value.remedy
    assert str(folder) == caught.value.file and caught.value.remedy.endswith("and add --resume")
    assert {"step-2"} == set(os.listdir(f"{folder}.partial"))
    assert not folder.exists() and not rejects.exists()
    disk(4 * len(expected) + 10 * SLACK)
    summary = run(folder, data, resume=True, on_error="skip", rejects=str(rejects))
    assert expected == (folder / "model.safetensors").read_bytes()
    assert (2, plain["losses"]) == (summary["steps"], summary["losses"])
    assert b"" == rejects.read_bytes() and [folder.name] == os.listdir(folder.parent)


def test_a_disk_that_is_too_small_is_told_before_the_first_step(disk, data):
    folder = disk(SLACK) / "model"
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
