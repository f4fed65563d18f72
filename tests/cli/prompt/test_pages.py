"""Help pages: flags in groups, and the fields of records that commands read and write."""

import json
import re
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from structkit import registry
from structkit.cli.main import app, command
from structkit.command import COMMANDS, Command
from structkit.settings import setting, setting_of

FIXTURES = Path("fixtures").absolute()


def page(made, name="x"):
    """The sections of a help page: heading and lines."""
    context = made.make_context(name, [], resilient_parsing=True)
    text = made.get_help(context)
    parts = re.split(r"^(?=\S[^\n]*:\n)", text, flags=re.M)[1:]
    return dict(part.split(":\n", 1) for part in parts)


@dataclass(frozen=True)
class Base:
    own_group: ClassVar[str] = "method"
    warmth: float = setting(1.0, "degrees", low=0, high=100, group="schedule")
    cups: int = setting(2, "cups", low=0, high=9, group="common")


@dataclass(frozen=True)
class Tea(Base):
    warmth: float = setting(80.0, "degrees of tea")
    leaves: int = setting(3, "leaves", low=0, high=9)


def test_a_setting_stands_in_the_group_that_it_or_what_it_overrides_names():
    assert ["schedule", "method", "common"] == [
        setting_of(Tea, name).group for name in ("warmth", "leaves", "cups")
    ]


def test_groups_come_in_their_order_and_common_flags_first():
    many = {f"n{number}": setting(1, "more", low=0, high=9) for number in range(12)}
    kind = make_dataclass(
        "Many", [(name, int, each) for name, each in many.items()], bases=(Base,), frozen=True
    )
    sections = page(command(Command(print, kind, print, about="Make tea.")))
    assert ["Options", "Method", "Schedule and validation"] == list(sections)
    assert "--cups" in sections["Options"] and "--help" in sections["Options"]
    assert "--n0" in sections["Method"] and "--warmth" in sections["Schedule and validation"]


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
