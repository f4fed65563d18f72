"""What holds for the variants of every document, whatever its markup.

`LAWS_EVERY=1 pytest tests/test_html_laws.py` reads all real documents; without it, some.
"""

import gzip
import json
import os
import random
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import html5lib
from hypothesis import given, settings
from hypothesis import strategies as st

from structkit.structure.html.elements import count, tokens_of, untag
from structkit.structure.html.reader import Reader
from structkit.structure.html.tags import NEVER, SEPARATORS, SILENT, STRUCTURE, tag_names

DATA = Path("../shared/data/structdoc")
EVERY = int(os.environ.get("LAWS_EVERY", "500"))
PAGES = Path("fixtures/pages")


@cache
def reader(keep=STRUCTURE):
    return Reader(keep)


def check(html, read, ratio=0.1):
    """All laws that need no second reading of the document."""
    document = read(html)
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
    assert tags[0] - tags[1] == 2 * count(len(document.elements), ratio)
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
SPECIAL = sorted((NEVER - {"plaintext"}) | {"x", "math", "foreignobject"})
ATTRIBUTES = (" a=1", ' class="x>y" b', "/")
WORDS = st.text(alphabet="ab é\u00a0\n&<>;漢", max_size=5)


TAGS = st.sampled_from(
    [f"<{name}{end}>" for name in NAMES for end in ("", "", "", *ATTRIBUTES)]
    + [f"</{name}>" for name in NAMES * 4]
    + [f"<{slash}{name}>" for name in SPECIAL for slash in ("", "/")]
)
# tags and texts in any order: nested well or badly, closed or not
FRAGMENTS = st.lists(TAGS | WORDS, max_size=30).map("".join)

FEW = ("a", "b", "div", "li", "p", "pre", "table", "td", "title", "ul")


@st.composite
def trees(draw):
    """A document that nests as it is written, with its words, glued where no block is between.

    Items and cells are in lists and tables of their own: elsewhere their tags end others, or are
    none at all.
    """
    around = {"li": ("<ul>", "</ul>"), "td": ("<table><tr>", "</tr></table>")}
    names = st.sampled_from(("p", "b", "div", "span", "li", "td", "em", "section"))
    shown = []

    def show(nodes):
        parts = []
        for node in nodes:
            if isinstance(node, str):
                parts.append(node)
                shown.append(node)
            else:
                name, inner = node
                blank = [" "] if name in SEPARATORS else []
                shown.extend(blank)
                before, behind = around.get(name, ("", ""))
                parts += [before, f"<{name}>", show(inner), f"</{name}>", behind]
                shown.extend(blank)
        return "".join(parts)

    leaf = st.text(alphabet="ab ", min_size=1, max_size=4)
    nodes = draw(
        st.recursive(
            st.lists(leaf, max_size=3),
            lambda inner: st.lists(st.tuples(names, inner) | leaf, max_size=4),
            max_leaves=20,
        )
    )
    return show(nodes), "".join(shown).split()


@given(FRAGMENTS, st.sampled_from((0.0, 0.1, 0.5, 1.0)))
@settings(max_examples=200, deadline=None)
def test_laws_hold_for_any_order_of_tags(html, ratio):
    check(html, reader().read, ratio)
    check(html, reader(tag_names("all")).read, ratio)
    check(html, reader(FEW).read, ratio)


@given(st.text(alphabet="<>/!-?=&;'\" \nabp\0\r\x0c漢\u00a0", max_size=60))
@settings(max_examples=200, deadline=None)
def test_laws_hold_for_any_characters(text):
    check(text, reader().read)
    check(f"<pre>{text}</pre>{text}", reader(FEW).read)


@given(trees())
@settings(max_examples=80, deadline=None)
def test_words_of_a_tree_are_its_words(tree):
    html, words = tree
    for keep in (STRUCTURE, tag_names("all"), FEW):
        assert check(html, reader(keep).read).text.split() == words
    assert words_of_the_standard(html) == words


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


def test_laws_hold_for_real_documents():
    for _, html in documents():
        assert check(html, reader().read).elements
        check(html, reader(tag_names("structure phrases")).read)


def test_words_are_those_that_html5lib_reads():
    """By a parser of the HTML standard; what XHTML closes itself is left out: it reads on there."""
    same = total = 0
    for _, html in documents()[:: max(1, 20 // EVERY)]:
        if "<script" in html and "/>" in html and "xhtml" in html.lower():
            continue
        ours, theirs = reader().read(html).text.split(), words_of_the_standard(html)
        total += len(theirs)
        blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        same += len(theirs) if ours == theirs else sum(block.size for block in blocks)
    assert total > 5_000 + 5_000 * DATA.exists()
    assert same >= 0.999 * total


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
            blank = " " if name in SEPARATORS else ""
            drawing = node.tag.startswith("{http://www.w3.org/2000/svg}")
            parts.append(blank)
            if name in SILENT or (name == "title" and drawing):
                continue
            stack.append(blank)
            for child in reversed(node):
                stack += [child.tail or "", child]
            stack.append(node.text or "")
    return "".join(parts).split()
