"""The cases that are measured on a GPU are ones that train."""

from pathlib import Path

import pytest

from experiments.card import case_of, record_of, seconds_of, tree_of
from tests.learning.training.materials import small_bert


@pytest.mark.long
@pytest.mark.parametrize("negatives", [0, 2])
def test_records_of_documents_train(negatives, tmp_path):
    small_bert(tmp_path / "start")
    settings = {"model": str(tmp_path / "start"), "batch_size": 2, "stages": "element"}
    settings |= {"negatives_per_query": negatives, "document_length": 32}
    records = [record_of(number, 24, negatives) for number in range(4)]
    assert 4 == len({each["positive"] for each in records})
    assert [18, 24, 18, 24] == [len(each["positive"].split()) for each in records]
    case = case_of(str(tmp_path), "seal", settings, iter(records))
    assert seconds_of(case, 2) > 0
    assert [] != list(Path(case["output"]).glob("*.safetensors"))


def test_random_trees_have_twenty_words():
    first, second = tree_of(0), tree_of(1)
    assert first == tree_of(0) != second
    assert 20 == len(first["text"].split()) == first["tree"].count("(X") + 1
