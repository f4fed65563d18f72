"""What holds for the variants of every document, and the documents: of any tags, and of the web."""

import gzip
import html
import json
import os
import random
import re
from functools import cache
from pathlib import Path

import html5lib
from hypothesis import strategies as st

from structkit.structure.html.elements import BLOCK_TAGS, masked_count
from structkit.structure.html.reader import Reader
from structkit.structure.html.tags import (
    NEVER_KEPT,
    SEPARATING_ELEMENTS,
    SILENT_ELEMENTS,
    STRUCTURE,
    tag_names,
)

DATA = Path("../shared/data/structdoc")
EVERY = int(os.environ.get("LAWS_EVERY", "500"))
PAGES = Path("fixtures/pages")


@cache
def reader(keep=STRUCTURE):
    return Reader(keep)


def tokens_of(tagged):
    """The tags and texts of a tagged text."""
    return re.findall("<[^>]*>|[^<]+", tagged)


def untag(tagged):
    """The text of a tagged text: a block tag becomes a space, an inline tag nothing."""
    tokens = (
        " " if each in BLOCK_TAGS else re.sub("<[^>]*>", "", each) for each in tokens_of(tagged)
    )
    return html.unescape(" ".join("".join(tokens).split()))


def check(page, read, ratio=0.1):
    """All laws that need no second reading of the document."""
    document = read(page)
    tagged = document.tagged
    again = read(tagged)
    assert (again.tagged, again.text) == (tagged, document.text)
    assert untag(tagged) == document.text
    assert balanced(tagged)
    masked = document.mask(ratio, random.Random(1))
    assert masked == again.mask(ratio, random.Random(1))
    assert untag(masked) == document.text
    assert balanced(masked)
    tags = [tag_count(each) for each in (tagged, masked)]
    assert tags[0] - tags[1] == 2 * masked_count(len(document.elements), ratio)
    assert "<></>" not in tagged.replace(" ", "")
    return document


def tag_count(tagged):
    return sum(token[0] == "<" for token in tokens_of(tagged))


def balanced(tagged):
    stack = []
    for token in tokens_of(tagged):
        if token[0] == "<":
            name = token[1:-1].split()[0]
            if not name.startswith("/"):
                stack.append(name)
            elif not stack or stack.pop() != name[1:]:
                return False
    return not stack


NAMES = sorted({*STRUCTURE, *tag_names("all")})
SPECIAL = sorted((NEVER_KEPT - {"plaintext"}) | {"x", "math", "foreignobject"})
ATTRIBUTES = (" a=1", ' class="x>y" b', "/")
WORDS = st.text(alphabet="ab é\u00a0\n&<>;漢", max_size=5)
TAGS = st.sampled_from(
    [f"<{name}{end}>" for name in NAMES for end in ("", "", "", *ATTRIBUTES)]
    + [f"</{name}>" for name in NAMES * 4]
    + [f"<{slash}{name}>" for name in SPECIAL for slash in ("", "/")]
)
# tags and texts in any order: nested well or badly, closed or not
FRAGMENTS = st.lists(TAGS | WORDS, max_size=30).map("".join)


@cache
def documents():
    """(id, html): pages of our own, and where there are, documents of the web as stored."""
    rows = []
    for path in sorted(PAGES.glob("*.jsonl")):
        rows += [(row["id"], row["html"]) for row in map(json.loads, path.open("rb"))]
    names = ("dev_docs", "train_docs-00", "train_docs-01", "raw_samples") if DATA.exists() else ()
    for name in names:
        field = "raw_html" if name == "raw_samples" else "html"
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
            step = max(1, EVERY // 50) if name == "raw_samples" else EVERY
            found = [line for number, line in enumerate(handle) if number % step == 0]
        rows += [(row["id"], row[field]) for row in map(json.loads, found)]
    return rows


def words_of_the_standard(html):
    """The words that html5lib's tree shows, by the same table of tags."""
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    parts = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif isinstance(node.tag, str):
            name = node.tag.rpartition("}")[2].lower()
            blank = " " if name in SEPARATING_ELEMENTS else ""
            drawing = node.tag.startswith("{http://www.w3.org/2000/svg}")
            parts.append(blank)
            if name in SILENT_ELEMENTS or (name == "title" and drawing):
                continue
            stack.append(blank)
            for child in reversed(node):
                stack += [child.tail or "", child]
            stack.append(node.text or "")
    return "".join(parts).split()
