"""Every text of a training batch has the prompt of its side, in every method that has prompts."""

import pytest

from structkit import registry
from tests.learning.training.materials import SCRATCH, first_batch, write_pairs

METHODS = [
    name
    for name in registry.names("method")
    if "document_prompt" in registry.load("method", name).__dataclass_fields__
]
PROMPTS = {"query_prompt": "look for a red ", "document_prompt": "here is a house "}
CHANGES = [
    pytest.param({}, id="own"),
    pytest.param({"architecture": "bert"}, id="bert"),
    pytest.param({"architecture": "t5"}, id="t5"),
    pytest.param({"align_on": "original"}, id="original"),
    pytest.param({"stages": "joint"}, id="joint"),
    pytest.param({"document_length": 30}, id="cut"),
]


@pytest.mark.parametrize("negatives", [0, 2])
@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("name", METHODS)
def test_every_text_of_a_batch_has_its_prompt(tmp_path, name, changes, negatives):
    if not changes.keys() <= registry.load("method", name).__dataclass_fields__.keys():
        pytest.skip("another method's")
    file = write_pairs(tmp_path / "records.jsonl", 6, lambda number: negatives)
    values = {**SCRATCH, **PROMPTS, **changes, "batch_size": 6}
    module, batch, _, _ = first_batch(name, file, **values, negatives_per_query=negatives)
    tokenizing = module.encoder.tokenizing
    assert len(batch.texts) >= 2
    for texts, part in batch.texts.items():
        side = "query" if texts in ("query", "queries") else "document"
        prompt = PROMPTS[f"{side}_prompt"].strip()
        expected = tokenizing.tokenizer.encode(prompt, add_special_tokens=False).ids
        first = len(tokenizing.opening)
        rows = part.tokens.ids[:, first : first + len(expected)].tolist()
        assert rows and all(expected == row for row in rows), texts
