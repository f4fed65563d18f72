"""A training neither starts from what cannot compute nor writes where it cannot."""

import json

import pytest
from safetensors.torch import load_file, save_file

from structkit import registry
from structkit.errors import UserError
from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.learning.training.trainer import RunFolder
from tests.learning.encoders.test_damaged_models import RECORD, copied, models  # noqa: F401


def test_a_training_from_weights_that_are_no_numbers(copied, tmp_path):  # noqa: F811
    folder = copied("contrastive")
    file = folder / "model.safetensors"
    save_file(
        {name: w * float("nan") for name, w in load_file(file).items()}, file, {"format": "pt"}
    )
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps({"id": str(n), **RECORD}) + "\n" for n in range(2)))
    settings = registry.load("method", "contrastive")(model=str(folder), max_steps=1)
    with pytest.raises(UserError, match="the loss is nan at step 1; lower --learning-rate, or"):
        train("contrastive", settings, [str(data)], RunOptions(output=str(tmp_path / "out")))


def test_a_run_folder_with_a_name_that_is_not_utf_8_is_refused():
    with pytest.raises(UserError, match=r"-o m\udcff is not UTF-8; give it another name"):
        RunOptions(output="m\udcff")


def test_a_run_folder_with_a_name_that_is_too_long_is_refused():
    with pytest.raises(UserError, match="File name too long"):
        RunFolder("x" * 5000, overwrite=False, resume=False)
