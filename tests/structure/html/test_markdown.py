"""Markdown: its front matter, as the tools that write it read it, and breaks between words."""

import pytest

from structkit.collecting.pages import Note
from structkit.structure.html.markdown import from_markdown
from tests.jsonl import lines, read

YAML = {
    "title: Tea": "Tea",
    'title: "Tea: a \\u0067uide"  # draft': "Tea: a guide",
    "title: 'it''s # tea'": "it's # tea",
    "title: >-\n  Green\n  tea\ntags: [a, b]": "Green tea",
    "title: |\n  Green\n  tea": "Green tea",
    "tags:\n  - title: no\ntitle: Tea": "Tea",
    "{a: [1, 2], title: Tea}": "Tea",
    "title: 2024-01-01": "2024-01-01",
    "title: 007": "007",
    "title: Tea: hot": "Tea: hot",  # no YAML, but what its writer meant
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", YAML)
def test_the_title_in_yaml(block, end):
    text = f"---\n{block}\n---\n\n# Head\n\nText.\n".replace("\n", end)
    note = Note(text)
    assert YAML[block] == note.title
    assert ["Head"] == [each.text for each in note.headings]
    [(_, section)] = note.sections()
    first = block.count("\n") + 5
    assert [first, first + 2] == section["lines"]
    assert "<h1>Head</h1>\n<p>Text.</p>\n" == from_markdown(text)


@pytest.mark.parametrize(
    "block",
    [
        "",
        "# only",
        "title:",
        "title: ~",
        "title: [a, b]",
        "x: {title: no}",
        "x: *none",
        "a: " * 9000,
    ],
)
def test_front_matter_without_a_title(block):
    note = Note(f"---\n{block}\n---\n# Head\n")
    assert "Head" == note.title
    assert ["Head"] == [each.text for each in note.headings]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("block", "title"),
    [
        ('title = "Tea: hot"', "Tea: hot"),
        ("[x]\ntitle = 'no'", "Head"),
        ("title = '''\nGreen\ntea'''", "Green tea"),
        ("title = 2024-01-01", "2024-01-01"),
        ("title = wrong", "Head"),
        (f"a = {'[' * 5000}", "Head"),
    ],
)
def test_the_title_in_toml(block, title, end):
    text = f"+++\n{block}\n+++\n# Head\n".replace("\n", end)
    assert title == Note(text).title
    assert "<h1>Head</h1>\n" == from_markdown(text)


@pytest.mark.parametrize("text", ["---\n\nText\n\n---\n", "---\n- a\n---\n", "\n---\na: b\n---\n"])
def test_text_between_lines_is_no_front_matter(text):
    assert "<hr />" in from_markdown(text)
    assert [] != list(Note(text).sentences())


@pytest.mark.parametrize("tag", ["<br>", "<br/>", "<BR />", "<br\nclear=all>", "</p>", "<hr>"])
def test_breaks_separate_words(tag):
    note = Note(f"# Green{tag.replace(chr(10), ' ')}tea\n\n- hot{tag}water\n")
    assert "Green tea" == note.title
    assert ["Green tea", "hot water"] == [each["text"] for each in note.sentences()]


@pytest.mark.parametrize("tag", ["<sub>", "</b>", "<wbr>", "<!-- x -->", "<span class='br'>"])
def test_other_tags_do_not(tag):
    assert "H2O" == Note(f"# H{tag}2O").title


def test_a_break_in_a_cell():
    [(_, row)] = Note("| a<br>b | c |\n|-|-|\n| 1<br/>2<br />3 | 4 |\n").rows()
    assert "a b: 1 2 3; c: 4" == row["text"]


def test_front_matter_is_no_heading_of_variants(here):
    record = {"id": "1", "markdown": "---\r\ntitle: x\r\n---\r\n# Tea\r\n\r\nGreen<br>tea."}
    [variant] = read(here("html-variants", "--from", "markdown", input=lines(record)).stdout)
    assert "<h1>Tea</h1><p>Green tea.</p>" == variant["tagged"]
