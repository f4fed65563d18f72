"""Equal runs of a method give equal models."""

import pytest
from tests.benchmarks.reproducible import models

from structkit import registry
from tests.learning.training.materials import write_pairs


@pytest.mark.parametrize("name", registry.names("method"))
def test_a_method_trains_the_same_twice(name, tmp_path):
    assert 1 == models(name, write_pairs(tmp_path / "records.jsonl", 12), tmp_path, 2)
