"""HTML, Markdown and brackets in any state: entities, variants and trees, or one error.

Code of every language is in tests/structure/code/test_language_laws.py.
"""

from functools import partial

import pytest
from hostile.good import HTML, MARKDOWN, TREE
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st

from structkit import html_variants, mask_entities, parse_trees
from structkit.errors import UserError
from structkit.records.output import dump
from structkit.structure.trees.brackets import read


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def made(command, record):
    """What a command makes of a record; None where it rejects it."""
    try:
        [found] = command([{"id": "1", **record}])
    except UserError as error:
        assert error.remedy
        return None
    dump(found)
    return found


@pytest.mark.parametrize(
    ("source", "good"), [("html", HTML), ("markdown", MARKDOWN), ("text", MARKDOWN)]
)
@examples(120)
@given(st.data())
def test_spoiled_documents(source, good, data):
    spoilt = text(data.draw(spoiled(good.encode(), 8)))
    tags = data.draw(st.sampled_from(["structure", "all"]))
    made(partial(html_variants, from_=source, tags=tags), {"text": spoilt, source: spoilt})


@pytest.mark.parametrize(
    "mark",
    ["<div>", "<b>", "<table><tr><td>", "&#", "<![CDATA[", "<a href='", "- ", "> ", "[", "*"],
)
def test_documents_that_only_open(mark):
    for source in ("html", "markdown"):
        made(partial(html_variants, from_=source), {source: f"{mark * 3_000}a"})


@examples(200)
@given(spoiled(TREE.encode(), 8))
def test_spoiled_brackets(data):
    try:
        tree = read(text(data))
    except UserError as error:
        assert error.remedy
        return
    assert tree.words
    assert made(partial(parse_trees, parser="brackets", field=["tree"]), {"tree": text(data)})


@pytest.mark.parametrize("language", ["html", "product"])
@examples(40)
@given(st.data())
def test_spoiled_pages_and_products(language, data):
    spoilt = text(data.draw(spoiled(HTML.encode(), 8)))
    record = {"title": HTML, "query": HTML, "html": spoilt, "description": spoilt}
    made(mask_entities, {"language": language, **record})
