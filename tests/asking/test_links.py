"""The words of a link count for the page to which it leads, as the folder is now."""

import time

import pytest

from structkit import ask
from tests.jsonl import write_files

QUESTION = "pedestrian crossing"
PAGE = "<h1>Road</h1><p>A crossing is marked.<p>{}"
MENU = "".join(f"<li><a href=/{each}.html>Pedestrian signs {each}</a>" for each in "ab")


def written(folder, link, target="guide/z z.html"):
    """A manual whose link to the last page has the words of the question."""
    others = {f"{name}.html": PAGE.format(name) for name in "abc"}
    return write_files(folder, {**others, target: PAGE.format("z"), "docs/start.html": link})


def first(folder, **kept):
    """The first answer that is not the page with the link."""
    found = list(ask(str(folder), [QUESTION], no_model=True, **(kept or {"no_cache": True})))
    paths = (each["path"].removeprefix(f"{folder}/") for each in found)
    return found, next(path for path in paths if path != "docs/start.html")


@pytest.mark.parametrize(
    "link",
    [
        '<a href="../guide/z%20z.html">Pedestrian crossing</a>',
        "<A data-href=b.html HREF = './../guide/./z%20z.html?a#b'><b>Pedestrian</b> crossing</A>",
        "<a href=/guide/z%20z.html>Pedestrian&nbsp;crossing",
        '<a href="../Guide/Z%20z.HTML">Pedestrian crossings</a>',
        '<a href="../guide/z%20z">Pedestrian crossing</a>',
        '<dl><dt><a href="../guide/z%20z.html">z(1)</a><dd>Pedestrian crossing<dt>Road</dl>',
    ],
)
def test_a_link_leads_to_its_page(tmp_path, link):
    assert "guide/z z.html" == first(written(tmp_path, link))[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/start.md", "- [Pedestrian crossing](../guide/z.md#b) | c\n- [Road](/b.html)"),
        ("docs/start.md", "[**Pedestrian**\ncrossing]( </guide/z> 'Pedestrian' )"),
        ("docs/start.mdx", "| [![z](c.png)](../guide/z.md) | Pedestrian crossing |\n| [x] |"),
        ("docs/start.rst", "* :doc:`Pedestrian crossing </guide/z>`\n* :doc:`../b`"),
        ("docs/start.txt", "* :doc:`../guide/z`: pedestrian ``crossing``\n\n:doc:`../b` Road"),
        ("docs/start.rst", "The :ref:`pedestrian crossing <Z-1>`, :ref:`z-1`"),
    ],
)
def test_a_link_of_markdown_and_restructuredtext_leads_to_its_page(tmp_path, name, text):
    folder = written(tmp_path, "", "guide/z.rst")
    page = {name: text, "guide/z.rst": f".. _z-1:\n\nRoad\n====\n\n{PAGE}"}
    write_files(folder, {**page, **{f"{each}.py": "road = 1" for each in range(20)}})
    of = {"kind": "docs", "glob": ("!docs",), "no_model": True, "no_cache": True}
    assert str(folder / "guide/z.rst") == next(ask(str(folder), [QUESTION], **of))["path"]


@pytest.mark.parametrize(
    "href", ["https://x.org/docs/z.html", "//x.org/z", "mailto:z", "#z", "z://x"]
)
def test_a_link_to_another_site_counts_for_no_page(tmp_path, href):
    link = f"<a href='{href}'>Pedestrian crossing</a>"
    assert "a.html" == first(written(tmp_path, link, "docs/z.html"))[1]


def test_a_link_to_a_folder_leads_to_its_index(tmp_path):
    link = "<a href=../guide/>Pedestrian crossing</a>"
    assert "guide/index.html" == first(written(tmp_path, link, "guide/index.html"))[1]


def test_answers_follow_the_links_of_other_files(tmp_path):
    link = '<a href="../guide/z%20z.html">Pedestrian crossing</a>'
    folder, cache = written(tmp_path / "manual", link), str(tmp_path / "cache")
    page, other = folder / "docs/start.html", folder / "guide/z z.html"
    edits = [
        (lambda: None, "guide/z z.html"),
        (lambda: page.write_text(link.replace("guide/z%20z", "b")), "b.html"),
        (lambda: page.write_text(link), "guide/z z.html"),
        (lambda: other.rename(folder / "guide/y.html"), "a.html"),
        (lambda: (folder / "guide/y.html").rename(other), "guide/z z.html"),
        (lambda: page.unlink(), "a.html"),
        (lambda: page.write_text(MENU), "a.html"),
    ]
    for edit, expected in edits:
        edit()
        changed = time.monotonic()
        found, path = first(folder)
        assert expected == path
        while first(folder, cache=cache)[0] != found:  # a slow look is not repeated at once
            assert time.monotonic() < changed + 1
