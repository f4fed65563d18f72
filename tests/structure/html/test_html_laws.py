"""What holds for the variants of every document, whatever its markup.

`LAWS_EVERY=1 pytest tests/structure/html/test_html_laws.py` reads all real documents; without it,
some.
"""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from structkit.structure.html.tags import tag_names
from tests.structure.html.laws import (
    DATA,
    EVERY,
    FRAGMENTS,
    check,
    documents,
    reader,
    words_of_the_standard,
)

FEW = ("a", "b", "div", "li", "p", "pre", "table", "td", "title", "ul")


@given(FRAGMENTS, st.sampled_from((0.0, 0.1, 0.5, 1.0)))
def test_laws_hold_for_any_order_of_tags(html, ratio):
    check(html, reader().read, ratio)
    check(html, reader(tag_names("all")).read, ratio)
    check(html, reader(FEW).read, ratio)


@given(st.text(alphabet="<>/!-?=&;'\" \nabp\0\r\x0c漢\u00a0", max_size=60))
def test_laws_hold_for_any_characters(text):
    check(text, reader().read)
    check(f"<pre>{text}</pre>{text}", reader(FEW).read)


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
