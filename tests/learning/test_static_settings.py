"""Each flag of `train static` changes the table: what does nothing there is no flag of it."""

from dataclasses import fields

import orjson
import pytest

from structkit.learning.training.run import train
from structkit.learning.training.settings import RunOptions
from structkit.registry import load

TEXTS = ["the river runs to the sea", "readHTTPBody(self, max_size)", "the the the sea"]
MANY = " ".join(map(hex, range(0, 10**6, 2003)))  # more pieces than the least vocabulary
SAY_SETTINGS = {"structkit.json", "README.md"}
# a change of each setting, and the others with which it matters
CHANGES = {
    "seed": (1, {}),
    "model": ("bert", {}),
    "dimensions": (4, {}),
    "saturating": (True, {}),
    "vocabulary_size": (404, {}),
}


def made(folder, records, name="static", **settings):
    """All files of a new model but those that say its settings."""
    path = folder.with_suffix(".jsonl")
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    train(name, load("method", name)(**settings), [str(path)], RunOptions(output=str(folder)))
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return [each.read_bytes() for each in files if each.name not in SAY_SETTINGS]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A small encoder to be distilled."""
    folder = tmp_path_factory.mktemp("static") / "bert"
    pairs = [{"query": text, "positive": text[::-1]} for text in TEXTS]
    settings = {"architecture": "bert", "size": "tiny", "vocabulary_size": 400, "max_steps": 0}
    made(folder, pairs, "contrastive", **settings)
    return folder


@pytest.mark.parametrize("setting", [each.name for each in fields(load("method", "static"))])
def test_each_setting_changes_the_table(setting, bert, tmp_path):
    value, others = CHANGES[setting]
    before = {"dimensions": 8, "vocabulary_size": 400, **others}
    records = [{"id": str(n), "text": f"{TEXTS[n % 3]} {MANY}"} for n in range(20)]
    tables = []
    for number, settings in enumerate([before, {**before, setting: value}]):
        if "model" in settings:
            settings["model"] = str(bert)
        tables.append(made(tmp_path / str(number), records, **settings))
    assert tables[0] != tables[1]
