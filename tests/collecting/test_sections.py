"""Sections of pages: all words of the page, none glued or split; long definitions are sections."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.collecting.kinds import content_kind
from structkit.collecting.pages import MAX_LISTED_CHARACTERS, TOP_SECTION, HtmlPage
from structkit.collecting.units import Units
from structkit.structure.html.reader import Reader
from tests.structure.html.laws import FRAGMENTS, documents


def sections(html):
    return list(HtmlPage(html).sections())


def texts(html):
    return [record["text"] for _, record in sections(html)]


def check(html):
    """The sections of a page, which have all of its words, and each its own."""
    reader, found = Reader(), sections(html)
    words = [word for _, record in found for word in record["text"].split()]
    title, whole = HtmlPage(html).title.split(), reader.read(html).text.split()
    assert whole in (words, title + words)
    places = [record["lines"] for _, record in found]
    assert places == sorted(places)
    return found


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<section><h2>A</h2>one</section>two", ["A one two"]),
        ("<div><h2>A</h2>one</div>two<h2>B</h2>", ["A one two", "B"]),
        ("<table><tr><td><h2>A</h2>one</td></tr></table>two", ["A one two"]),
        ("<blockquote><h2>A</h2>one</blockquote>two", ["A one two"]),
        ("<details><summary><h3>A</h3></summary>one</details>two", ["A one two"]),
        (
            "<ul><li><h3>A</h3>one</li></ul>two<h3>B</h3>three</ul>four",
            ["A one two", "B three four"],
        ),
        ("<b><h2>A</h2>on</b>e<i>two</i>", ["A onetwo"]),
        ("<h3>a</h2>b", ["a b"]),
        ("<h1>a</h1>b<h2>c</h3>d</h2>e", ["a b", "c d e"]),
        ("<title>T</title>x<h1>a</h1>", ["T x", "a"]),
        ("<head><title>T</title></head><body>x<h1>a</h1></body>y", ["x", "a y"]),
        ("a<body>b<h1>c", ["a b", "c"]),
        ("<h1>a<body>b", ["a b"]),
        ("<pre>a\n<h2>b</h2>\nc</pre>", ["a", "b c"]),
    ],
)
def test_a_section_ends_in_an_element_of_another(html, expected):
    assert expected == [record["text"] for _, record in check(html)]


@pytest.mark.parametrize("name", ["noscript", "template", "video", "canvas", "svg><desc", "script"])
def test_what_is_not_shown_has_no_headings(name):
    end = "".join(f"</{each}>" for each in reversed(name.split("><")))
    html = f"<h1>a</h1>b<{name}><h2>no</h2>no{end}c<h2>d</h2>"
    assert ["a", "d"] == HtmlPage(html).page()["headings"]
    assert ["a bc", "d"] == [text.replace("b c", "bc") for text in texts(html)]


XHTML = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{}</head>{}</html>'


@pytest.mark.parametrize(
    ("html", "title", "headings", "text"),
    [
        # the title of a drawing
        ("<svg><title>no</title></svg><h1>a</h1>b", "a", ["a"], "a b"),
        ("<svg><title>no</title></svg><title>t</title><h1>a</h1>", "t", ["a"], "t a"),
        ("<svg><title/></svg><svg/><title>t</title>b", "t", [], "t b"),
        # `/>` ends no element of HTML that hides its content; in drawings it does
        ("<h1>a</h1><iframe src=x /><h2>no</h2>", "a", ["a"], "a"),
        ("<h1>a</h1><SCRIPT SRC=x /><h2>no</h2></SCRIPT><h2>b</h2>", "a", ["a", "b"], "a b"),
        ("ok<script/>no()</script>fin<style/>no{}", "", [], "okfin"),
        ("a<title/><h1>b</h1>", "<h1>b</h1>", [], "a <h1>b</h1>"),
        ("<div><video/><h2>no</h2></div>fin", "", [], "fin"),
        ("<div><canvas><h2>no</h2></div><audio><source></source>no</audio>fin", "", [], "fin"),
        ("<svg><script/><style/><defs/><text>a</text></svg>b", "", [], "a b"),
        # XHTML
        (XHTML.format("<title/><script/><style/>", "<h1/>a<h2>b</h2>"), "b", ["b"], "a b"),
        (XHTML.format("<title>t</title>", "a<![CDATA[ & <raw> ]]>b"), "t", [], "t a & <raw> b"),
        ("<h1>a</h1><![CDATA[no]]><svg><![CDATA[b > c]]></svg>", "a", ["a"], "a b > c"),
        # what is opened by a script or the user: its headings begin no section
        ("<h1>a</h1><dialog><h2>b</h2></dialog><h2>c</h2>", "a", ["a", "c"], "a b c"),
        ("<dialog open><h1>a</h1></dialog>", "a", ["a"], "a"),
        ("<div HIDDEN><div></div><h1>a</h1></div><h1>b</h1>", "b", ["b"], "a b"),
        ("<div><main hidden=''><h1>a</h1></div><h1>b</h1>", "b", ["b"], "a b"),
        ("<h1 hidden>a</h1><body hidden><h1 title=' hidden '>b</h1>", "b", ["b"], "a b"),
        ("<div hidden=until-found><h1>a</h1></div>", "a", ["a"], "a"),
        # a shadow root
        ("<template shadowrootmode=open><h1>a</h1></template>b", "a", ["a"], "a b"),
        (
            "<template shadowrootmode='closed'>a<template>no</template>b</template>"
            "<template><template shadowrootmode=open>no</template>no</template>",
            "",
            [],
            "ab",
        ),
    ],
)
def test_title_headings_and_text_are_those_that_a_browser_shows(html, title, headings, text):
    page = HtmlPage(html).page()
    assert (title, headings, text.split()) == (
        page["title"],
        page["headings"],
        page["text"].split(),
    )
    assert text.split() == Reader().read(html).text.split()
    check(html)


@pytest.mark.parametrize(
    ("path", "media", "xml"),
    [
        *(("a.xhtml", "", True), ("a.XHT", "", True), ("a", "application/xhtml+xml", True)),
        *(
            ("a.html", "Application/XHTML+xml; charset=utf-8", True),
            ("a.xhtml", "text/html", False),
        ),
        *(("a.xhtml", "text/plain", True), ("a.html", "", False), ("xhtml", "text/html", False)),
    ],
)
def test_xhtml_is_xml_by_its_name_or_its_type(path, media, xml):
    """As a browser reads a file, or what a server says."""
    html = XHTML.format("<title/>", "<h1/>a<h2>b</h2><![CDATA[ & <c>]]>").partition("?>")[2]
    [page] = Units("page").records(path, html, content_kind(path, html, media))
    assert (["b"] if xml else []) == page["headings"]
    assert page["text"].endswith("a b & <c>") is xml


@given(FRAGMENTS)
@example(";<a</dd>;")  # one tag, as is the next
@example("a<i </p>b")
@example("a</i</p>b")
def test_no_word_is_lost_in_any_order_of_tags(html):
    if not re.search("<(plaintext|frameset|title)|\x02", html):
        check(html)


SPREAD = ["<h2>", "</h2>", "<h3>", "</div>", "<div>", "</section>", "<dl>", "<dt>", "<dd>", "</dl>"]


@given(st.lists(st.sampled_from([*SPREAD, "a", "b ", "<i>", "word " * 400]), max_size=25))
def test_no_word_is_lost_between_definitions(pieces):
    check("".join(pieces))


@pytest.mark.long
def test_no_word_is_lost_in_real_pages():
    for _, html in documents():
        check(html)


LONG = "word " * (MAX_LISTED_CHARACTERS // 10)


def test_long_definitions_are_sections_with_their_terms():
    options = "".join(
        f'<dt id="o{n}">-{n}</dt><dt>--option-{n}</dt><dd>{LONG}</dd>' for n in range(3)
    )
    html = f"<h1>tool</h1><h2 id=opts>Options</h2>They are:<dl>{options}</dl>more<h2>Files</h2>x"
    found = check(html)
    assert ["tool", "opts", "o0", "o1", "o2", "opts", "files"] == [name for name, _ in found]
    assert ["tool", "Options", "-1 --option-1"] == found[3][1]["headings"]
    assert ("o1", "/html/body/dl/dt[3]") == (found[3][1]["anchor"], found[3][1]["xpath"])
    assert found[3][1]["html"].startswith('<dt id="o1">-1</dt>')
    assert found[3][1]["text"].startswith("-1 --option-1 word")
    assert ("Options They are:", "more") == (found[1][1]["text"], found[5][1]["text"])


@pytest.mark.parametrize(
    "html",
    [
        "<h1>a</h1><dl><dt>b<dd>c<dt>d<dd>e</dl>",  # short
        f"<h1>a</h1>{LONG * 10}<dl><dt>b<dd>c</dl>",
        f"<h1>a</h1><dl><dd>{LONG * 10}</dl>",  # without a term
        f"<h1>a</h1><dt>b<dd>{LONG * 10}",  # in no list
    ],
)
def test_other_definitions_stay_in_their_section(html):
    assert ["a"] == [name for name, _ in check(html)]


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("<dl><dt>{}<dd>x<dt>b<dd>y{}</dl>z", ["word", "b", TOP_SECTION]),
        ("<dl><div><dt>a<dd>{}</div><div><dt>b<dd>{}</div></dl>", ["a", "b"]),
        ("<dl><dt>a<dd>{}</dl><dl><dt>b<dd>{}</dl>", ["a", "b"]),  # of one term each
        ("<h2>h</h2><dl><dt>a<dd>{}<h2>i</h2><dt>b<dd>{}</dl>", ["h", "a", "i"]),
        (
            "<dl><dt>a<dd>x<dl><dt>b<dd>{}<dt>c<dd>{}</dl>y<dt>d<dd>z</dl>",
            ["a", "b", "c", "a", "d"],
        ),
        ("<dl><dt>a<dd>{}<dt>a<dd>{}", ["a", "a"]),
        ("<ul><li><dl><dt>a<dd>{}<dt>b<dd>{}</dl></ul>", ["a", "b"]),
        ("<table><tr><td><dl><dt>a<dd>{}<dt>b<dd>{}</dl></table>", ["a", "b"]),
        ("<dl><dt><a name=n></a>a<dd>{}<dt id=m>b<dd>{}</dl>", ["n", "m"]),
    ],
)
def test_definitions_in_all_kinds_of_lists(html, names):
    long = "word " * (MAX_LISTED_CHARACTERS // 4)
    assert names == [name.partition("-")[0] for name, _ in check(html.replace("{}", long))]


def test_deep_and_wide_lists():
    (deep,) = HtmlPage("<dl><dt>a<dd>b" * 300, xpaths=False).sections()
    assert ["a", "b"] * 300 == deep[1]["text"].split()
    assert 2 == len(list(HtmlPage("<dl><dt>a<dd>b" * 5000, xpaths=False).sections()))
    wide = "<h1>a</h1><dl>" + "<dt>b<dd>c d" * 5000 + "</dl>"
    assert 5_001 == len(list(HtmlPage(wide, xpaths=False).sections()))


KATEX = """<p>Energy <span class="katex"><span class="katex-mathml"><math><semantics><mrow>
<mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">mc^2
</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">
<span class="base">mc2</span></span></span> holds."""
MATHJAX = """<p>Energy <mjx-container class="MathJax"><mjx-math class="MJX-TEX" aria-hidden="true">
<mjx-mi><mjx-c>E</mjx-c></mjx-mi></mjx-math><mjx-assistive-mml unselectable="on"><math><mi>E</mi>
</math></mjx-assistive-mml></mjx-container> holds."""
MATHJAX_2 = """<p>Energy <span class="MathJax_Preview"></span><span class="MathJax">
<nobr aria-hidden="true"><span class="math">E</span></nobr><span class="MJX_Assistive_MathML">
<math><mi>E</mi></math></span></span><script type="math/tex">E</script> holds."""


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (KATEX, "Energy mc2 holds."),
        (MATHJAX, "Energy E holds."),
        (MATHJAX_2, "Energy E holds."),
        (
            '<p>E <span class="katex"><span class="katex-html" aria-hidden="true">m</span></span>',
            "E m",
        ),
        ('<p>Home <i class="icon" aria-hidden="true">house</i> page', "Home page"),
        (
            '<p>Home <i aria-hidden="false">house</i> <b ARIA-HIDDEN=true>x</b>page',
            "Home house page",
        ),
        (
            '<div aria-hidden="true"><p>All of a page behind a dialog.',
            "All of a page behind a dialog.",
        ),
        ('<p aria-hidden="true">A paragraph. <span hidden>More.</span>', "A paragraph. More."),
    ],
)
def test_what_is_there_for_the_eye_alone(html, text):
    assert text == HtmlPage(html).page()["text"] == Reader().read(html).text
    assert text.replace(" ", "") in "".join(
        each["text"].replace(" ", "") for each in HtmlPage(html).sentences()
    )
