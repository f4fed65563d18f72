"""The card of a trained model: facts for the Hub, its command, its use, and no places."""

import json
import re
import shlex

import pytest
from huggingface_hub import ModelCard, metadata_load

from structkit.learning.training.run import card_metadata
from structkit.registry import load
from tests.learning.training.materials import train_on

SCRATCH = {"size": "tiny", "vocabulary_size": 400, "max_steps": 1}


def trained(folder, **values):
    file = folder.parent / "pairs.jsonl"
    file.write_text('{"query": "one", "positive": "a"}\n{"query": "two", "positive": "b"}\n')
    train_on(file, "contrastive", folder, **values)
    return (folder / "README.md").read_text()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card") / "m"
    trained(folder, batch_size=2, normalize=False, **SCRATCH)
    return folder


def test_its_command_trains_the_same_model(model):
    card = (model / "README.md").read_text()
    command = re.search(r"^    structkit train contrastive (.+)$", card, re.M)
    given = "--size tiny --vocabulary-size 400 --max-steps 1 --batch-size 2 --no-normalize"
    assert sorted(given.split()) == sorted(shlex.split(command[1]))
    facts = json.loads((model / "structkit.json").read_text())
    assert f"on 2 records of sha256 {facts['data']['sha256']}:" in card


def test_a_start_is_named_without_its_place(model, tmp_path):
    card = trained(tmp_path / "n", model=str(model), max_steps=0)
    assert "--model m" in card and str(model.parent) not in card


def test_the_hub_reads_its_facts(model):
    found = metadata_load(model / "README.md")
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction"]
    assert found == {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": [*tags, "structkit", "contrastive"],
    }
    assert ModelCard.load(model / "README.md").text.lstrip().startswith("# m\n")


def test_a_model_for_structkit_alone_says_so(tmp_path):
    card = trained(tmp_path / "m", pooling="mcls", **SCRATCH)
    assert "structkit" == metadata_load(tmp_path / "m" / "README.md")["library_name"]
    assert "sentence" not in card


@pytest.mark.parametrize(
    ("start", "card", "base", "license"),
    [
        ("minilm", None, "sentence-transformers/all-MiniLM-L6-v2", "apache-2.0"),
        ("owner/name", None, "owner/name", None),
        ("start", None, None, None),
        ("start", "---\nlicense: mit\nbase_model: owner/base\n---\ntext", "owner/base", "mit"),
        ("start", "no facts", None, None),
        ("start", "---\nlicense: [\n---\n", None, None),
    ],
)
def test_base_model_and_license_are_named_if_known(
    tmp_path, monkeypatch, start, card, base, license
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "start").mkdir()
    if card:
        (tmp_path / "start" / "README.md").write_text(card)
    method = load("method", "contrastive")(model=start)
    (tmp_path / "card.md").write_text(
        f"---\n{card_metadata('contrastive', method, in_library=True)}---\n"
    )
    found = metadata_load(tmp_path / "card.md")
    assert (base, license) == (found.get("base_model"), found.get("license"))


@pytest.mark.long
def test_its_snippet_runs(model, monkeypatch, capsys):
    snippet = re.search("```python\n(.+)```", (model / "README.md").read_text(), re.S)[1]
    monkeypatch.chdir(model.parent)
    exec(snippet, {})
    assert "tensor([[" in capsys.readouterr().out
