"""`make bench-gpu` in a tiny size, where there is no GPU."""

import json
import subprocess
import sys

import pytest


@pytest.mark.long
def test_each_task_of_each_system_is_measured() -> None:
    program = [sys.executable, "-m", "tests.benchmarks.gpu", "--tiny"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    device, *rows = map(json.loads, done.stdout.splitlines())
    assert device["product_tflops"] > 0
    expected = [
        (shape, task, system)
        for shape in ("BERT-tiny", "T5-tiny")
        for task in ("encode", "train")
        for system in ("structkit", "sentence-transformers")
    ]
    assert expected == [(row["shape"], row["task"], row["system"]) for row in rows]
    assert all(row["tokens_per_second"] > 0 < row["share_of_peak"] for row in rows)
