"""The memory of a training step on a card, computed without one."""

import re
import shutil
import subprocess
import sys

import pytest
import torch

from tests.gpu.pretend import TORCH

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("g++"), reason="no compiler: apt install g++"),
    pytest.mark.skipif(not torch.__version__.startswith(TORCH), reason=f"for torch {TORCH}"),
]


def test_weights_stay_and_flags_save_memory():
    done = subprocess.run(
        [sys.executable, "-m", "experiments.sizes", "BERT-base"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {
        cells[3].strip("` "): [float(number) for number in re.findall(r"[\d.]+(?= GB)", line)[:3]]
        for line in done.stdout.splitlines()[2:]
        if (cells := line.strip("|").split("|"))
    }
    plain, both = found["none"], found["both"]
    parameters = 108.9  # millions in BERT-base, without the pooler
    assert plain[0] == pytest.approx(12 * parameters / 1000, abs=0.06)  # weights and AdamW's two
    assert both[0] == pytest.approx(4 * parameters / 1000, abs=0.12)  # the adapter is small
    assert plain[1] > found["--lora-rank 16"][1] / 1.2 > both[1]
    assert plain[1] > 2 * found["--checkpointing"][1]
    for stays, adds, together in found.values():
        assert together == pytest.approx(stays + adds + 1, abs=0.11)
