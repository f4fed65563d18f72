"""Plain English: pages and help avoid the words that we once translated, and endless sentences."""

import re
from pathlib import Path

import pytest

PAGES = sorted(
    {
        *(Path(name) for name in ("README.md", "CHANGELOG.md")),
        *Path("docs").rglob("*.md"),
        *Path(".github").glob("*.md"),
        *Path("experiments").rglob("*.md"),
        *Path("fixtures/help").glob("*.txt"),
    }
)
CODE = re.compile(r"^```.*?^```|^ {4}\S.*?$|`[^`]*`|^ *\|.*?$|<!--.*?-->", re.MULTILINE | re.DOTALL)
# what to write instead
WORDS = {
    r"is told|are told|tells? (?:the|how|what|which)": "say, print, report",
    r"nobody|no one": "a subject that acts",
    r"by how much": "a number, or *how far*",
    r"as of": "as in, since",
    r"besides": "also",
    r"in place of": "instead of",
    r"what \w+ says of": "what … says about, or a verb",
    r"is mended|are mended|mends?": "fix",
    r"of its own accord|for ever|all but|nothing but": "only, always, except",
    r"is asked for": "you ask for",
}
LONGEST = 36  # words of a sentence


def prose(page):
    """The text of a page outside code, tables and comments."""
    return CODE.sub("", page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_has_no_odd_words(page):
    text = prose(page)
    found = {
        word: remedy
        for pattern, remedy in WORDS.items()
        for word in re.findall(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    }
    assert {} == found


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=str)
def test_sentences_are_short(page):
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |(?<=[.:;?!])\s", prose(page))
    assert [] == [part for part in parts if len(part.split()) > LONGEST]
