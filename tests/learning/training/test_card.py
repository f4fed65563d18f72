"""The card of a trained model: its command trains the same model again, and tells no places."""

import json
import re
import shlex

from tests.learning.training.materials import train_on

SCRATCH = {"size": "tiny", "vocabulary_size": 400, "max_steps": 1}


def trained(folder, **values):
    file = folder.parent / "pairs.jsonl"
    file.write_text('{"query": "one", "positive": "a"}\n{"query": "two", "positive": "b"}\n')
    train_on(file, "contrastive", folder, **values)
    return (folder / "README.md").read_text()


def test_its_command_trains_the_same_model(tmp_path):
    card = trained(tmp_path / "m", batch_size=2, normalize=False, **SCRATCH)
    command = re.search(r"^    structkit train contrastive (.+)$", card, re.M)
    given = "--size tiny --vocabulary-size 400 --max-steps 1 --batch-size 2 --no-normalize"
    assert sorted(given.split()) == sorted(shlex.split(command[1]))
    facts = json.loads((tmp_path / "m" / "structkit.json").read_text())
    assert f"on 2 records of sha256 {facts['data']['sha256']}:" in card


def test_a_start_is_named_without_its_place(tmp_path):
    trained(tmp_path / "start", **SCRATCH)
    card = trained(tmp_path / "m", model=str(tmp_path / "start"), max_steps=1)
    assert "--model start" in card and str(tmp_path) not in card
