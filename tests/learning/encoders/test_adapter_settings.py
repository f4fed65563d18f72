"""Settings of adapters: which go together, and which methods have them."""

import pytest

from structkit.errors import UserError
from structkit.registry import load, names
from tests.learning.training.materials import train_on, write_pairs


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"lora_rank": 4}, "--lora-rank needs --model"),
        ({"model": "x", "lora_alpha": 4.0}, "--lora-alpha needs --lora-rank"),
        ({"model": "x", "lora_modules": "q"}, "--lora-modules needs --lora-rank"),
        ({"model": "x", "lora_rank": 4, "tag_tokens": True}, "freezes the vectors of tokens"),
        ({"model": "x", "lora_rank": 0}, "--lora-rank 0 is not"),
    ],
)
def test_settings_that_do_not_go_together(values, match):
    with pytest.raises(UserError, match=match):
        load("method", "contrastive")(**values)


def test_only_methods_of_transformers_have_adapters():
    with_rank = {name for name in names("method") if hasattr(load("method", name), "lora_rank")}
    assert {"contrastive", "santa", "seal", "cross-encoder"} == with_rank


def test_a_table_has_no_layers(tmp_path):
    records = write_pairs(tmp_path / "records.jsonl")
    train_on(records, "static", tmp_path / "table")
    values = {"model": str(tmp_path / "table"), "lora_rank": 2}
    with pytest.raises(UserError, match="--lora-rank needs a transformer"):
        train_on(records, "contrastive", tmp_path / "model", **values)
