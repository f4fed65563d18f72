"""Processes that share batches have the loss and the gradients of one process."""

import json
from functools import partial

import numpy as np
import pytest
import torch

from structkit.learning.training.launching import launch
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Records
from structkit.registry import load
from tests.learning.training.ranks import gradients

WORDS = "red green blue black white house tree car door shirt".split()
# a lower temperature enlarges rounding errors
ENCODER = {"size": "tiny", "vocabulary_size": 400, "temperature": 1.0}
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="run with CUDA_VISIBLE_DEVICES=")
CASES = [
    ("contrastive", ENCODER),
    ("contrastive", ENCODER | {"chunk_size": 2}),
    ("santa", ENCODER),
    ("santa", ENCODER | {"chunk_size": 2}),
    ("seal", ENCODER),
    ("seal", ENCODER | {"chunk_size": 2}),
]


def records(name):
    """Eleven records: of batches of five, the last has one."""
    for number in range(11):
        words = [WORDS[(number * step + step) % 10] for step in range(1, 2 + number % 5)]
        text, other = " ".join(words), " ".join(WORDS[: number % 7 + 1])
        record = {"id": str(number), "query": words[0], "positive": text, "negatives": [other]}
        if name == "santa":
            record |= {
                "masked": f"{text} <extra_id_0>",
                "target": f"<extra_id_0> {words[0]} <extra_id_1>",
            }
        if name == "seal":
            for variant in ("tagged", "untagged", "masked"):
                record |= {variant: text, f"negatives_{variant}": [other]}
        yield record


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Methods with their settings and their records."""
    found = []
    for name, values in CASES:
        file = tmp_path_factory.mktemp("cases") / "train.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records(name)))
        values = {"batch_size": 5, "epochs": 1} | values
        prepare = load("method", name)(**values).prepare
        found.append((name, values, Spool(Records.read([str(file)]), prepare)))
    return found


@pytest.fixture(scope="module")
def alone(cases):
    """What one process finds."""
    return gradients(cases)


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 3])
def test_processes_are_one(cases, alone, count):
    together = launch(partial(gradients, cases), count)
    for (name, values, _), expected, found in zip(cases, alone, together, strict=True):
        assert len(expected) == len(found) >= 3
        for (parts, own), (shared_parts, shared) in zip(expected, found, strict=True):
            bound = 1e-6 * max(1.0, parts["loss"])  # of which each gradient is a share
            assert parts == pytest.approx(shared_parts, rel=0, abs=bound), (name, values)
            np.testing.assert_allclose(shared, own, rtol=0, atol=bound, err_msg=f"{name} {values}")
