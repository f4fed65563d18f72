"""Help pages: their width, and the fields of records that commands read and write."""

import json
import re
from pathlib import Path

import pytest

from structkit import registry
from structkit.cli.main import app
from structkit.command import COMMANDS

FIXTURES = Path("fixtures").absolute()


@pytest.mark.parametrize("name", registry.names("method"))
def test_the_page_of_a_method_names_the_fields_that_it_needs(name):
    method = registry.load("method", name)
    told = set(re.findall("`([a-z_]+)`", method.records))
    assert told >= {*method.needs} - ({"query", "positive"} if name == "static" else set())
    assert "`" in method.records


def told(name, *kinds):
    """The fields that a command's page names, and those that it names before any condition."""
    text = [text for kind, text in app.get_command(None, name).records.items() if kind in kinds]
    names = [re.findall("`([a-z_]+)`", each) for each in (";".join(text), text[0].split(";")[0])]
    return tuple(map(set, names))


RUNS = {
    "mask-entities": "code/functions.jsonl",
    "html-variants": "pages/test.jsonl",
    "parse-trees": "sentences/pairs.jsonl --field text_a",
    "pair": "code/test.jsonl --split a:1",
    "ask": "collect/src circle --no-cache",
    "collect": "collect/src",
    "search": "code/test.jsonl --method bm25 --query invoice",
    "plugins": "",
}


@pytest.mark.parametrize("name", RUNS)
def test_a_page_names_all_fields_that_a_command_makes(name, tmp_path, monkeypatch):
    monkeypatch.chdir(FIXTURES)
    app([name, *RUNS[name].split(), "-o", str(tmp_path / "out")], standalone_mode=False)
    made = [json.loads(line).keys() for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    every, always = told(name, "adds", "writes")
    if "adds" in app.get_command(None, name).records:
        given = Path(RUNS[name].split()[0]).read_text("utf-8").splitlines()
        made = [new - json.loads(old).keys() for old, new in zip(given, made, strict=True)]
    assert made
    for fields in made:
        assert fields <= every
        assert name == "pair" or fields >= always


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_pages_fit_the_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in (*([name] for name in COMMANDS), ["train", "seal"], ["plot", "ranks"]):
        app([*words, "--help"], standalone_mode=False)
        text = capsys.readouterr().out.partition("Examples:")[0]
        # a name that is longer than the column stands alone
        lines = [line for line in text.splitlines() if not re.match("  -", line)]
        assert 0 < max(map(len, lines)) <= columns, words
