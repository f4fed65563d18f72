"""Equal runs of a method give equal models."""

import pytest

from structkit import registry
from tests.learning.training.materials import smallest, train_on, weights, write_pairs


@pytest.mark.parametrize("name", registry.names("method"))
def test_a_method_trains_the_same_twice(name, tmp_path):
    data = write_pairs(tmp_path / "records.jsonl", 12)
    for folder in ("one", "two"):
        train_on(data, name, tmp_path / folder, **smallest(name, max_steps=3))
    assert weights(tmp_path / "one") == weights(tmp_path / "two")
