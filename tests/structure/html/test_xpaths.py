"""Parts of HTML: their XPaths are lxml's, their characters the source's, their words the text's."""

import re

import pytest
from hypothesis import given
from lxml import etree
from lxml import html as trees

from structkit.learning.encoding.encoding import elements_of
from structkit.structure.html import markup
from structkit.structure.html.page_text import PageText
from structkit.structure.html.xpaths import MAX_ITEM_CHARACTERS, walk
from tests.structure.html.laws import EVERY, FRAGMENTS, documents, reader

PAGE = """<!doctype html>
<html><head><title>Tea &amp; more</title><script>if (a < b) "<p>x</p>"</script></head>
<body><!-- <p>no</p> --><h1>Tea</h1>
<section><h2>Kinds</h2><ul><li>green<li>black <p>(<b>strong</b>)</p></ul></section>
<section><p>one<p>two</p><p>Three minutes, <a href="?a>b"><em>not</em> more</a>.</p></section>
<div>before<p>inside</p><br>behind <i>it</i></div>
<table><tr><th>Oolong<td>90</tr><tr><td>Black</td><td><noscript>x</noscript></td></tr></table>
<pre>a
 b</pre><o:p>odd</o:p></body></html>
"""


def words(html):
    return reader().read(html).text.split()


OPENED = re.compile(
    "(?i)(<(?:AMONG)\\b[^>]*)/>".replace("AMONG", "|".join(sorted(markup.OPENED_BY_START)))
)


def tree_of(html):
    parser = trees.HTMLParser(encoding="utf-8", huge_tree=True)
    if not markup.XML_START.match(html):
        html = OPENED.sub(r"\1>", html)  # `/>` ends no such tag in HTML
    return trees.document_fromstring(html.encode("utf-8", "replace"), parser=parser)


def check(html):
    """The parts of a document, of which everything holds that must."""
    found = walk(PageText(html)).parts
    places = [place for part in found for place in part[1:]]
    assert sorted(places) == places and (not places or 0 <= places[0] and places[-1] <= len(html))
    inside = [word for part in found for word in words(html[part.start : part.end])]
    # in a frameset texts may be glued
    assert "".join(words(html)) == "".join(inside)
    try:
        tree = tree_of(html)
    except etree.ParserError:  # it finds the document empty
        return found
    for part in found:
        elements = tree.xpath(part.xpath)
        assert len(elements) == 1, part
        if "*" not in part.xpath:  # lxml's path through <o:p> is none that it can follow
            assert tree.getroottree().getpath(elements[0]) == part.xpath
    return found


def test_parts_of_a_page():
    expected = [
        ("/html/head/title", "<title>Tea &amp; more</title>"),
        ("/html/body/h1", "<h1>Tea</h1>"),
        ("/html/body/section[1]/h2", "<h2>Kinds</h2>"),
        ("/html/body/section[1]/ul/li[1]", "<li>green"),
        ("/html/body/section[1]/ul/li[2]", "<li>black <p>(<b>strong</b>)</p>"),
        ("/html/body/section[2]/p[1]", "<p>one"),
        ("/html/body/section[2]/p[2]", "<p>two</p>"),
        (
            "/html/body/section[2]/p[3]",
            '<p>Three minutes, <a href="?a>b"><em>not</em> more</a>.</p>',
        ),
        ("/html/body/div", "before"),
        ("/html/body/div/p", "<p>inside</p>"),
        ("/html/body/div", "<br>behind <i>it</i>"),
        ("/html/body/table/tr[1]", "<tr><th>Oolong<td>90</tr>"),
        ("/html/body/table/tr[2]", "<tr><td>Black</td><td><noscript>x</noscript></td></tr>"),
        ("/html/body/pre", "<pre>a\n b</pre>"),
        ("/html/body", "<o:p>odd</o:p>"),
    ]
    assert expected == [(part.xpath, PAGE[part.start : part.end]) for part in check(PAGE)]


def test_a_large_item_is_what_is_in_it():
    long = "word " * (MAX_ITEM_CHARACTERS // 4)
    html = f"<ul><li><p>{long}</p><p>b</p></li><li><p>c</p><p>d</p></li></ul>"
    expected = ["/html/body/ul/li[1]/p[1]", "/html/body/ul/li[1]/p[2]", "/html/body/ul/li[2]"]
    assert expected == [part.xpath for part in check(html)]


def test_depth_and_documents_without_text():
    deep = "<div>" * 1500 + "x"
    (part,) = walk(PageText(deep)).parts
    assert "/html/body" + "/div" * 1500 == part.xpath
    for empty in ("", "<p> <!-- x --></p></p>", "<script>x</script>"):
        assert [] == walk(PageText(empty)).parts


def test_elements_are_read_as_their_page_is():
    page = "<ul><li>a<script/>b<li>c<iframe/><![CDATA[<d>]]></ul>"
    assert ["a"] == elements_of(page, tagged=False)[0]
    assert ["ab", "c <d>"] == elements_of(f"<?xml version='1.0'?>{page}", tagged=False)[0]


@pytest.mark.parametrize(
    "html",
    [
        "a</html>b <p>c",
        "<title>a<b>c",
        "<p>a<script/>b<p>c",
        "\0<p>\0a\0</p>",
        "<table><p>a<tr><td>b",
        '<?xml version="1.0" encoding="latin-1"?><p>\u00e9\ud800',
        "<svg><title>a</title><text>b</text></svg><p>c",
        "<x-y><p>a</p></x-y><o:p><p>b</p></o:p><o:p>c<p>d</p></o:p>",
        "<!-- \x020 --><p>a<!--\x021-->b</p><p>c",
    ],
)
def test_laws_hold_for_odd_documents(html):
    check(html)


@given(FRAGMENTS)
def test_laws_hold_for_any_order_of_tags(html):
    if not re.search(r"<plaintext|\x02", html):
        check(html)


def test_laws_hold_for_real_documents():
    """Pages of our own, and where there are, documents of the web."""
    for _, html in documents()[:: max(1, 10 // EVERY)]:
        assert check(html)
