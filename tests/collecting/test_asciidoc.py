"""AsciiDoc: titles and ids as Asciidoctor 2.0.23 finds them, lists of terms, rows of tables."""

import json

import pytest

from structkit.collecting.asciidoc import AsciiDocPage
from structkit.collecting.kinds import content_kind
from structkit.collecting.units import Units
from tests.jsonl import read

GUIDE = """\
// a comment
= Kettle Guide
A. Author
:toc:
:product: Kettle 2

Intro text.

== Boiling

Heat the water.

=== Safety

NOTE: Mind the steam.

----
== not a heading
----

====
== nor this
====

|===
|Size |Price

|Big |3
|===

== Pouring
"""


def records(text, unit):
    return list(Units(unit=unit).records("a.adoc", text, content_kind("a.adoc", text)))


def test_sections():
    found = [
        (each["headings"], each.get("anchor"), each["lines"]) for each in records(GUIDE, "section")
    ]
    assert [
        ([], None, [1, 7]),
        (["Boiling"], "_boiling", [9, 11]),
        (["Boiling", "Safety"], "_safety", [13, 29]),
        (["Pouring"], "_pouring", [31, 31]),
    ] == found
    [page] = records(GUIDE, "page")
    assert ("Kettle Guide", GUIDE, "asciidoc") == (page["title"], page["text"], page["language"])
    assert "Heat the water." in [each["text"] for each in records(GUIDE, "sentence")]


# what stands in a document, and its headings with their ids
TITLES = {
    "== Tea & Cake\n\n== Tea & Cake\n\n== 2.0 -- a_b": ["_tea_cake", "_tea_cake_2", "_2_0a_b"],
    ":idprefix:\n:idseparator: -\n\n== Tea Pot\n\n== Tea Pot": ["tea-pot", "tea-pot-2"],
    '[[pot]]\n== Tea\n\n[#cup.small]\n== Cup\n\n== Jug [[jug]]\n\n[id="can"]\n== Can': [
        "pot",
        "cup",
        "jug",
        "can",
    ],
    "== `Tea` *is* _hot_ ==\n\n== C++ snake_case": ["_tea_is_hot", "_c_snake_case"],
    "Name\n====\n\nTea\n---\n\nText\n\nCup\n~~~": ["_tea", "_cup"],
    "Text\n== no title": [],
    "----\ncode\n----\n== Tea": ["_tea"],
    "....\n== no\n----\n== no\n....\n\n== Tea": ["_tea"],
    "```ruby\n== no\n```\n\n# Name\n\n## Tea": ["_name", "_tea"],
    "----\n== open": [],
    "== Über 日本": ["_über_日本"],
    "== a--b\n\n== [.red]#Hot# image:a.png[A] t\n\n== C# #mark#": ["_ab", "_hot_t", "_c_mark"],
}


@pytest.mark.parametrize("text", TITLES)
def test_titles(text):
    assert TITLES[text] == [heading.anchor for heading in AsciiDocPage(text).headings]


def test_text_of_titles():
    text = ":name: Kettle\n\n== {name} {no}: see link:a.html[*the* page], <<b,that>> and C++"
    [heading] = AsciiDocPage(text).headings
    assert "Kettle {no}: see the page, that and C++" == heading.text


def test_rows_of_tables():
    table = """
[cols="1,2"]
|===
|Size
|Price

|Big
.2+|3
over
two lines
|Small
|===

[%header]
|===
|A |B
2+|both
2*|c
|x \\| y a|z
|===
"""
    assert [
        (4, "Size; Price"),
        (7, "Big; 3 over two lines"),
        (11, "Small; 3 over two lines"),
        (17, "A: both"),
        (18, "A: c; B: c"),
        (19, "A: x | y; B: z"),
    ] == [(each["lines"][0], each["text"].rpartition("\n")[2]) for each in records(table, "row")]
    implicit = records(GUIDE, "row")
    assert ["Boiling > Safety\nSize: Big; Price: 3"] == [each["text"] for each in implicit]


def test_terms_of_long_lists_become_sections():
    entries = "".join(f"`-{sign}`::\n  Say {sign}. {'More of it. ' * 50}\n\n" for sign in "abcd")
    found = records(f"== Options\n\n{entries}\nThe end.\n", "section")
    assert [None, "-a", "-b", "-c", "-d", None] == [
        each["headings"][1] if len(each["headings"]) > 1 else None for each in found
    ]
    assert "The end." == found[-1]["text"]
    assert {"_options"} == {each["anchor"] for each in found}


def test_ask_finds_a_section(tmp_path, here):
    (tmp_path / "guide.adoc").write_text(GUIDE)
    [best, *_] = read(here("ask", ".", "how to boil water").stdout)
    assert ("guide.adoc", ["Boiling"]) == (best["path"], best["headings"])
    assert b"" != json.dumps(best).encode()
