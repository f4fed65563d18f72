"""html-variants: goldens, what is kept, encodings, sizes, and what is rejected."""

import random
from pathlib import Path

import pytest

from structkit import html_variants
from structkit.errors import UserError
from structkit.structure.html.reader import Reader
from structkit.structure.html.tags import STRUCTURE
from tests.structure.html.laws import untag

CASES = sorted(Path("fixtures/html").glob("*.txt"))


def made(html, id="1", **options):
    record = {"id": id, "html": html} if isinstance(html, str) else {"id": id, **html}
    [record] = html_variants([record], **options)
    return record


def tagged(html, *keep):
    return Reader(keep or STRUCTURE).read(html).tagged


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden(path, golden):
    html = path.read_bytes().decode().split("---input---\n")[1].split("\n---tagged---\n")[0]
    record = made(html, id=path.stem)
    parts = [f"---{name}---\n{record[name]}\n" for name in ("tagged", "untagged", "masked")]
    golden(path, f"---input---\n{html}\n{''.join(parts)}")


@pytest.mark.parametrize(("ratio", "removed"), [(0, 1), (0.1, 2), (0.12, 2), (0.125, 3), (1, 20)])
def test_k_elements_lose_their_two_tags(ratio, removed):
    record = made("".join(f"<p>{number}</p>" for number in range(20)), mask_ratio=ratio)
    assert record["masked"].count("<p>") == record["masked"].count("</p>") == 20 - removed
    assert untag(record["masked"]) == " ".join(map(str, range(20)))


def test_masking_content_removes_the_text_too():
    html = "<h1>A</h1><div>b<p>c</p>d</div><p>e</p>"
    record = made(html, mask_ratio=0.5, mask="content")
    assert record["tagged"] == html
    assert record["masked"] == "<h1>A</h1><div>b d</div>"
    left = {made(html, mask_ratio=0.5, mask="content", seed=seed)["masked"] for seed in range(50)}
    assert len(left) == 6  # two of four; <p>c</p> goes with the one that it is in
    with pytest.raises(UserError) as error:
        made(html, mask_ratio=1, mask="content")
    assert "without its masked elements" in str(error.value)


def test_negatives_have_the_same_variants_and_draws_of_their_own():
    html = "".join(f"<p>{number}</p>" for number in range(50))
    record = made({"html": html, "query": "q", "negatives": [html, html, "<i>x</i>y"]})
    assert record["query"] == "q"
    assert record["negatives"] == [html, html, "<i>x</i>y"]
    assert record["negatives_tagged"] == [html, html, "xy"]
    assert record["negatives_untagged"] == [record["untagged"], record["untagged"], "xy"]
    assert len({record["masked"], *record["negatives_masked"]}) == 4
    assert [each.count("<p>") for each in record["negatives_masked"]] == [45, 45, 0]


@pytest.mark.parametrize(
    ("fields", "source", "expected"),
    [
        ({"content": "<p>a", "positive": "<p>b"}, "html", "<p>a</p>"),
        ({"positive": "<p>b"}, "html", "<p>b</p>"),
        ({"text": "a <b>\n\n1 & 2\nc"}, "text", "<p>a &lt;b&gt;</p><p>1 &amp; 2 c</p>"),
        ({"text": "# T\n\n* a\n* b_c_"}, "markdown", "<h1>T</h1><ul><li>a</li><li>b_c_</li></ul>"),
        (
            {"markdown": "|a|b|\n|-|-|\n|1|~~2~~|\n"},
            "markdown",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
        ),
        ({"text": "> " * 100 + "deep"}, "markdown", None),
    ],
)
def test_sources(fields, source, expected):
    found = made(fields, from_=source)["tagged"]
    assert found == expected or (expected is None and "<p>deep</p>" in found)


def test_other_tags():
    html = '<p id="a&quot;&gt;b" x<y=1>a<em class=c>b</em><br>c</p><div>d</div>'
    assert tagged(html, "em") == "a<em>b</em> c d"
    assert made(html, tags="structure em")["tagged"] == "<p>a<em>b</em> c</p><div>d</div>"
    assert made(html, tags="structure em", mask_ratio=1)["masked"] == "ab c d"


@pytest.mark.parametrize("tags", ["script", "p,br", "p<", "", "body", "1"])
def test_tags_that_cannot_be_kept(tags):
    with pytest.raises(UserError) as error:
        html_variants([], tags=tags)
    assert error.value.status == 2


DECLARATIONS = (
    "\ufeff",
    "\ufeff\ufeff",
    '<?xml version="1.0" encoding="utf-16"?>',
    '<meta charset="koi8-r">',
    '<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">',
    '\ufeff<?xml version="1.0" encoding="ascii"?><html><head><meta charset=utf-7>',
)


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_no_declaration_changes_a_character(declaration):
    text = "Grüße – 日本語 \U0001f600 e\u0301 \ufeff+AOQ-"
    assert tagged(f"{declaration}<p>{text}") == f"<p>{text}</p>"


def test_characters_that_mislead_parsers():
    assert tagged("<p>a\0b\x01c\x0cd\r\ne\x0bf\ud800g") == "<p>ab\x01c d e f?g</p>"
    assert tagged("<pre>a\r\nb\rc&#13;d</pre>") == "<pre>a\nb\nc\nd</pre>"


@pytest.mark.parametrize("tag", ["div", "b", "table><tr><td", "x"])
def test_no_text_is_lost_at_depth_5000(tag):
    words = [str(number) for number in range(5000)]
    html = "".join(f"<{tag}>{word} " for word in words)
    document = Reader((*STRUCTURE, "b")).read(html)
    assert document.text.split() == words
    assert untag(document.mask(0.1, random.Random(0))) == document.text
    if tag == "div":
        assert document.tagged.endswith("4999" + "</div>" * 5000)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"html": ""}, "the document holds no text; leave the record out"),
        ({"html": "bare"}, "the document holds no element to mask"),
        ({"text": "x"}, 'field "html" is missing; the record has: id, text'),
        ({"html": "<p>x", "negatives": "<p>y"}, 'field "negatives" is not a list of strings'),
        ({"html": "<p>x", "negatives": ["a", 1]}, 'field "negatives" is not a list of strings'),
        ({"html": "<p>x", "negatives": ["<p>y", "<p>"]}, 'item 1 of field "negatives" holds no'),
    ],
)
def test_rejected(record, reason):
    with pytest.raises(UserError) as error:
        made(record)
    assert reason in str(error.value)
