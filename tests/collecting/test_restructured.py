"""Titles of reStructuredText: each case has what docutils 0.22 finds; so have 400 real files."""

import pytest

import structkit
from structkit.collecting.restructured import Restructured

LONG = "A very long title of a section"
CASES = [
    ("Tea\n===\n\nHot\n---\n\nCold\n----\n", [(1, "Tea"), (2, "Hot"), (2, "Cold")]),
    ("===\nTea\n===\n\nHot\n===\n\nText", [(1, "Tea"), (2, "Hot")]),  # two styles
    ("====\n Tea\n====\n\ntext\n", [(1, "Tea")]),
    ("Tea\n~~~\n\nHot\n^^^\n\nMilk\n~~~~\n", [(1, "Tea"), (2, "Hot"), (1, "Milk")]),
    (f"{LONG}\n====\n", [(1, LONG)]),  # a short line, which docutils takes
    (f"{LONG}\n===\n", []),
    ("One line\nand another\n===========\n", []),
    ("- item\n======\n", []),
    (".. note::\n=========\n", []),
    ("text\n\n-----\n\nmore\n", []),
    (":class:`Pot` of :py:mod:`tea`\n=============================\n", [(1, "Pot of tea")]),
    ("``pour()`` and *stir*\n---------------------\n", [(1, "pour() and stir")]),
    ("See `the pot <a.rst>`_\n======================\n", [(1, "See the pot")]),
    ("    Tea\n    ===\n", []),
    ("Tea\r\n===\r\n", [(1, "Tea")]),
    ("", []),
    ("===\n", []),
    ("Tea\n===\n\n--\n----\n", [(1, "Tea"), (2, "--")]),
]


@pytest.mark.parametrize(("text", "titles"), CASES)
def test_titles_are_those_of_docutils(text, titles):
    assert titles == [(each.level, each.text) for each in Restructured(text).headings]


def test_a_file_is_read_by_its_titles(tmp_path):
    text = "Tea\n===\n\nWarm the pot. Pour.\n\nMilk first?\n-----------\n\nNo.\n"
    (tmp_path / "tea.rst").write_text(text)
    sections = list(structkit.collect(tmp_path / "tea.rst", unit="section"))
    assert [
        (["Tea"], [1, 4], "Tea\n===\n\nWarm the pot. Pour.", "tea"),
        (["Tea", "Milk first?"], [6, 9], "Milk first?\n-----------\n\nNo.", "milk-first"),
    ] == [(each["headings"], each["lines"], each["text"], each["anchor"]) for each in sections]
    (page,) = structkit.collect(tmp_path / "tea.rst")
    assert ("Tea", ["Tea", "Milk first?"], text, "restructuredtext") == (
        page["title"],
        page["headings"],
        page["text"],
        page["language"],
    )
    found = structkit.collect(tmp_path / "tea.rst", unit="sentence")
    assert ["Pour.", "No."] == [each["text"] for each in found if each["lines"][0] in (4, 9)][1:]
    assert not list(structkit.collect(tmp_path / "tea.rst", unit="row", on_error="skip"))
