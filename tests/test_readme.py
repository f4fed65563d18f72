"""What the README shows is what happens: its sessions are run, `…` stands for anything."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import run_page
from terminals import plain

from docs import terminal
from structkit.command import COMMANDS

PAGE = Path("README.md")
README = PAGE.read_text("utf-8")
SCORE = re.compile(r"\d+\.\d{3}$", re.MULTILINE)


@pytest.mark.long
def test_it_can_be_followed(tmp_path):
    shutil.copytree("fixtures", tmp_path / "fixtures")
    assert README.count("```console\n") >= 2
    run_page(PAGE, tmp_path)


SHOWN = README + Path("docs/guide/search-html.md").read_text("utf-8")


@pytest.mark.parametrize("name", terminal.COMMANDS)
def test_a_picture_shows_what_a_terminal_shows(name):
    session = SCORE.sub("…", plain(terminal.session(name)))
    for theme in terminal.PICTURES:
        kept = Path(f"docs/{name}-{theme}.svg").read_text("utf-8")
        assert f"{name}-{theme}.svg" in SHOWN
        told = "run python docs/terminal.py"
        assert words_of(terminal.picture(name, session, theme)) == words_of(kept), told


def words_of(svg):
    """The characters of a picture, without spaces and scores."""
    text = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)).replace("&#160;", " ")
    return "".join(re.sub(r"…|\b\d+\.\d{3}\b", "", text).split())


def test_it_is_short_and_lists_all_commands():
    assert len(README.splitlines()) <= 150
    sessions = re.findall(r"```console.*?\n(.*?)```", README, re.DOTALL)
    assert 3 == len(sessions) and max(len(each.splitlines()) for each in sessions) <= 5
    assert set(COMMANDS) == set(re.findall(r"^\| `([a-z-]+)[^`]*` \|", README, re.MULTILINE))


def test_numbers_of_its_table_are_those_of_the_results():
    [table] = re.findall(r"^\| task .*?\n\n", README, re.MULTILINE | re.DOTALL)
    pages = Path("experiments/results.md"), Path("experiments/REPORT.md")
    results = "".join(page.read_text("utf-8") for page in pages)
    numbers = re.findall(r"\b\d+\.\d+\b", table)
    assert len(numbers) >= 10
    assert [] == [number for number in numbers if not re.search(rf"\b{number}\b", results)]


def test_make_targets_of_the_readme_exist():
    mentioned = re.findall(r"(?:^|`)make (-C experiments )?([a-z-]+)", README, re.MULTILINE)
    assert {("", "demo"), ("", "test")} <= set(mentioned)
    for folder in ("", "-C experiments "):
        command = ["make", "-s", *folder.split(), "help"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        targets = {line.split()[0] for line in listed.splitlines()}
        assert {name for place, name in mentioned if place == folder} <= targets
        assert folder or len(targets) <= 25
    assert os.access(".ci/run", os.X_OK)
