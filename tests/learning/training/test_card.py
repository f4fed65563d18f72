"""The card of a trained model: what it says is true, and the hub and its readers can use it."""

import json
import re
import shlex

import pytest
from huggingface_hub import ModelCard
from sentence_transformers import SentenceTransformer

from structkit.learning.training.run import _names, train
from structkit.learning.training.settings import RunOptions
from structkit.registry import load
from structkit.settings import flag_of

RECORD = {
    "query": "one",
    "positive": "def one(): pass",
    "tree": "(((x a) (x b)) (x c))",
    "text": "a b c",
}
RECORD |= {"masked": "def <extra_id_0>(): pass", "target": "<extra_id_0> one <extra_id_1>"}
SCRATCH = {"size": "tiny", "vocabulary_size": 400, "max_steps": 1}


def trained(folder, method, **values):
    file = folder.parent / "some pairs.jsonl"
    rows = [RECORD | {"id": str(number), "query": f"one {number}"} for number in range(4)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = RunOptions(output=str(folder), quiet=True)
    settings = load("method", method)(**values)
    summary = train(method, settings, [str(file)], options)
    return summary, (folder / "README.md").read_text()


def rows_of(card):
    return dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", card, re.M))


def test_a_card_says_what_the_model_is_made_of(tmp_path):
    summary, card = trained(tmp_path / "m", "contrastive", batch_size=2, **SCRATCH)
    data = ModelCard(card).data
    assert "sentence-transformers" == data.library_name
    rows = rows_of(card)
    facts = json.loads((tmp_path / "m" / "structkit.json").read_text())
    assert f"{summary['parameters']:,}" == rows["parameters"]
    found = (rows["training records"], rows["steps"])
    assert ("4, from `some pairs.jsonl`", "1") == found
    assert "not stated: see those of the start model and the training data" == rows["license"]
    assert f"`{facts['data']['sha256']}`" == rows["sha256 of the records"]
    written = sum(f.stat().st_size for f in (tmp_path / "m").rglob("*") if f.is_file())
    assert float(rows["size"].split()[0]) == pytest.approx((written - len(card)) / 1e6, abs=0.06)
    assert str(tmp_path) not in card


def test_its_command_trains_the_same_model(tmp_path):
    _, card = trained(tmp_path / "m", "contrastive", batch_size=2, normalize=False, **SCRATCH)
    command = re.search(r"^structkit train contrastive (.+)$", card, re.M)
    given = {"batch_size": 2, "no_normalize": None, **SCRATCH}
    words = [
        word
        for name, value in given.items()
        for word in (flag_of(name), *([] if value is None else [str(value)]))
    ]
    assert sorted(words) == sorted(shlex.split(command[1]))


def test_it_shows_sentence_transformers_only_what_that_loads(tmp_path):
    trained(tmp_path / "m", "contrastive", **SCRATCH)
    vectors = SentenceTransformer(str(tmp_path / "m")).encode(["a text"])
    assert (1, 64) == vectors.shape
    _, card = trained(tmp_path / "n", "santa", **SCRATCH)  # the decoder's first state
    assert "structkit" == ModelCard(card).data.library_name
    assert "sentence_transformers" not in card


def test_a_start_is_named_without_its_place(tmp_path):
    trained(tmp_path / "start", "contrastive", **SCRATCH)
    _, card = trained(tmp_path / "m", "contrastive", model=str(tmp_path / "start"), max_steps=1)
    assert "`start`" == rows_of(card)["start"]
    assert "--model start" in card and str(tmp_path) not in card
    assert ModelCard(card).data.base_model is None  # no name of the hub


def test_no_name_breaks_the_table():
    names = _names(["a|b.jsonl", "c`d\n<i>.jsonl", "plain.jsonl"])
    assert r"a\|b.jsonl, c\`d &lt;i&gt;.jsonl, `plain.jsonl`" == names
