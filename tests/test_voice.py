"""Plain English: pages and help avoid the words that we once translated, and endless sentences."""

import re
from pathlib import Path

PAGES = [
    *(Path(name) for name in ("README.md", "CHANGELOG.md")),
    *(path for folder in ("docs", ".github", "experiments") for path in Path(folder).rglob("*.md")),
    *Path("fixtures/help").glob("*.txt"),
]
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


def test_pages_have_no_odd_words_and_no_endless_sentences():
    found = []
    for page in PAGES:
        text = CODE.sub("", page.read_text("utf-8"))
        for pattern, remedy in WORDS.items():
            words = re.findall(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
            found += [f"{page}: {word!r}; write {remedy}" for word in words]
        parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |(?<=[.:;?!])\s", text)
        long = [part for part in parts if len(part.split()) > LONGEST and page.suffix == ".md"]
        found += [f"{page}: more than {LONGEST} words: {part}" for part in long]
    assert [] == found
