"""Lists of terms and options in Markdown, man pages and AsciiDoc: an item is not cut in two."""

import pytest

from structkit.collecting.chunks import cut_lines
from structkit.collecting.pages import MAX_LISTED_CHARACTERS, MarkdownPage

LONG = "word " * (MAX_LISTED_CHARACTERS // 10)


def sections(text):
    """The sections of a note, which have each of its lines once and in order."""
    found = [record for _, record in MarkdownPage(text).sections()]
    kept = "\n".join(record["text"] for record in found)
    assert list(filter(None, text.split("\n"))) == list(filter(None, kept.split("\n")))
    return found


@pytest.mark.parametrize(
    ("items", "terms"),
    [
        ("- `-{n}`, `--long-{n}`: {LONG}\n", ["-{n}, --long-{n}"]),
        ("* **{n}** - {LONG}\n\n  {LONG}\n", ["{n}"]),  # with a second paragraph
        ("1. __{n}__ or `{n}{n}`\n   {LONG}\n", ["{n} or {n}{n}"]),
        ("+ `{n} | x` {LONG}\n  - `inner`: {LONG}\n", ["{n} | x"]),  # with a list in it
        ("- **{n}**\n\n  ```\n  - `code`: {LONG}\n  ```\n", ["{n}"]),
        ("- plain {LONG}\n- `{n}` {LONG}\n", ["{n}"]),
    ],
)
def test_long_items_are_sections_with_their_terms(items, terms):
    listed = "".join(items.replace("{n}", n).replace("{LONG}", LONG) for n in "abcdefghijkl")
    options = f"## Options\n\nThey are:\n\n{listed}\nAfter.\n"
    found = sections(f"# Tool\n\nIntro.\n\n{options}\n## Files\n\nx\n")
    expected = [term.replace("{n}", n) for n in "abcdefghijkl" for term in terms]
    below = [each for each in found if each["headings"][:2] == ["Tool", "Options"]]
    assert expected == [each["headings"][2] for each in below if len(each["headings"]) > 2]
    assert {"options"} == {each["anchor"] for each in below}
    assert below[-1]["text"].endswith("After.") and ["Tool", "Files"] == found[-1]["headings"]


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n- `-a`: short\n- `-b`: short\n",
        f"# A\n\n- the `-a` {LONG * 20}\n- and `-b` {LONG}\n",  # no terms
        f"# A\n\n> - `-a`: {LONG * 20}\n> - `-b`: {LONG}\n",  # a quotation
        f"# A\n\n```\n- `-a`: {LONG * 20}\n- `-b`: {LONG}\n```\n",
        f"# A\n\n`-a`: {LONG * 20}\n\n`-b`: {LONG}\n",  # paragraphs
    ],
)
def test_other_lists_stay_in_their_section(text):
    assert 1 == len(sections(text))


@pytest.mark.parametrize(
    "items",
    [
        ".TP\n.B \\-{n}\n{LONG}\n",
        ".IP \\fB\\-{n}\\fR 4\n{LONG}\n",
        ".It Fl {n}\n.It Fl -long-{n}\n{LONG}\n",  # two terms
        ".TP\n.B \\-{n}\n.TQ\n.B \\-\\-long-{n}\n{LONG}\n",
        ".SS {n}\n{LONG}\n.PP\n{LONG}\n",
        "-{n}::\n--long-{n}::\n\t{LONG}\n",
        "{n}:: {LONG}\n+\n{LONG}\n",
    ],
)
def test_chunks_of_other_texts_begin_at_items(items):
    text = "".join(items.replace("{n}", n).replace("{LONG}", LONG) for n in "abcdefghijkl")
    lines = text.splitlines(keepends=True)
    begins = items.partition("{n}")[0].partition("\n")[0], ".PP"
    chunks = cut_lines(lines, None, MAX_LISTED_CHARACTERS)
    assert 6 <= len(chunks)
    assert [] == [lines[first] for first, _ in chunks if not lines[first].startswith(begins)]
