"""Markdown: its front matter, as the tools that write it read it, and breaks between words."""

import pytest

from structkit.collecting.pages import MarkdownPage
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
    note = MarkdownPage(text)
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
    note = MarkdownPage(f"---\n{block}\n---\n# Head\n")
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
    assert title == MarkdownPage(text).title
    assert "<h1>Head</h1>\n" == from_markdown(text)


@pytest.mark.parametrize("text", ["---\n\nText\n\n---\n", "---\n- a\n---\n", "\n---\na: b\n---\n"])
def test_text_between_lines_is_no_front_matter(text):
    assert "<hr />" in from_markdown(text)
    assert [] != list(MarkdownPage(text).sentences())


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ('<h1 align="center">A</h1>\n\na\n\n## B', [(1, "A", 0, "a"), (2, "B", 4, "b")]),
        ("<div>\n<h1>A</h1>\n\n<H2 ID=x>B</H2>\n</div>", [(1, "A", 1, "a"), (2, "B", 3, "x")]),
        ("<h1>\n\n**A** b\n\n</h1>\n<h2>B</h2>", [(1, "A b", 0, "a-b"), (2, "B", 5, "b")]),
        ("a\n<hr>\n\n# B", [(1, "B", 3, "b")]),
        ("<!-- <h1>no</h1> -->\n\n```\n<h1>no</h1>\n```\n\n- <h1>no</h1>", []),
        ("# A {#x-1}", [(1, "A", 0, "x-1")]),
        ("# A *b* {: .c #x k=v } #", [(1, "A b", 0, "x")]),
        ("A {#x}\n--", [(2, "A", 0, "x")]),
        ("# A {.c}\n# B {-}", [(1, "A", 0, "a"), (1, "B", 1, "b")]),
        ("# A `{#x}`\n# {x}", [(1, "A {#x}", 0, "a-x"), (1, "{x}", 1, "x")]),
    ],
)
def test_headings_with_their_anchors_in_html_and_in_attributes(text, headings):
    found = MarkdownPage(text).headings
    assert headings == [(each.level, each.text, each.start, each.anchor) for each in found]
    assert "{" not in from_markdown(text) or "{" in str(headings)


@pytest.mark.parametrize("tag", ["<br>", "<br/>", "<BR />", "<br\nclear=all>", "</p>", "<hr>"])
def test_breaks_separate_words(tag):
    note = MarkdownPage(f"# Green{tag.replace(chr(10), ' ')}tea\n\n- hot{tag}water\n")
    assert "Green tea" == note.title
    assert ["Green tea", "hot water"] == [each["text"] for each in note.sentences()]


@pytest.mark.parametrize("tag", ["<sub>", "</b>", "<wbr>", "<!-- x -->", "<span class='br'>"])
def test_other_tags_do_not(tag):
    assert "H2O" == MarkdownPage(f"# H{tag}2O").title


def test_a_break_in_a_cell():
    [(_, row)] = MarkdownPage("| a<br>b | c |\n|-|-|\n| 1<br/>2<br />3 | 4 |\n").rows()
    assert "a b: 1 2 3; c: 4" == row["text"]


def test_front_matter_is_no_heading_of_variants(here):
    record = {"id": "1", "markdown": "---\r\ntitle: x\r\n---\r\n# Tea\r\n\r\nGreen<br>tea."}
    [variant] = read(here("html-variants", "--from", "markdown", input=lines(record)).stdout)
    assert "<h1>Tea</h1><p>Green tea.</p>" == variant["tagged"]
