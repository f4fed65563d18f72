"""HTML, Markdown, brackets and code in any state: entities, variants and trees, or one error."""

from functools import partial
from pathlib import Path

import pytest
from hostile.good import HTML, MARKDOWN, TREE
from hostile.spoiling import examples, spoiled
from hypothesis import given
from hypothesis import strategies as st

from structkit import registry
from structkit.commands.html_variants import Settings as VariantSettings
from structkit.commands.html_variants import html_variants
from structkit.commands.mask_entities import Settings as MaskSettings
from structkit.commands.mask_entities import mask_entities
from structkit.commands.parse_trees import Settings as ParseSettings
from structkit.commands.parse_trees import parse_trees
from structkit.errors import UserError
from structkit.records.output import dump
from structkit.structure.sentinels import unmask
from structkit.structure.trees.brackets import read

LANGUAGES = [
    name for name in registry.names("language") if Path("fixtures/languages", name).exists()
]


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
    settings = VariantSettings(from_=source, tags=data.draw(st.sampled_from(["structure", "all"])))
    made(partial(html_variants, settings=settings), {"text": spoilt, source: spoilt})


@pytest.mark.parametrize(
    "mark",
    ["<div>", "<b>", "<table><tr><td>", "&#", "<![CDATA[", "<a href='", "- ", "> ", "[", "*"],
)
def test_documents_that_only_open(mark):
    for source in ("html", "markdown"):
        made(
            partial(html_variants, settings=VariantSettings(from_=source)),
            {source: f"{mark * 3_000}a"},
        )


@examples(200)
@given(spoiled(TREE.encode(), 8))
def test_spoiled_brackets(data):
    try:
        tree = read(text(data))
    except UserError as error:
        assert error.remedy
        return
    assert tree.words
    parsing = ParseSettings(parser="brackets", field=("tree",))
    assert made(partial(parse_trees, settings=parsing), {"tree": text(data)})


@pytest.mark.parametrize(
    "tree", ["(" * 100_000, ")" * 100_000, "(X " * 50_000 + "a" + ")" * 50_000, "(X " * 9 + "a"]
)
def test_deep_brackets(tree):
    parsing = ParseSettings(parser="brackets", field=("tree",))
    whole = made(partial(parse_trees, settings=parsing), {"tree": tree})
    assert (whole is None) == (tree.count("(") != tree.count(")"))


@pytest.mark.parametrize("language", LANGUAGES)
@examples(40)
@given(st.data())
def test_spoiled_code(language, data):
    cases = sorted(Path("fixtures/languages", language).glob("*.txt"))
    code = "".join(case.read_text("utf-8") for case in cases[:1]).partition("---input---\n")[2]
    good = code.partition("\n---")[0] or HTML
    spoilt = text(data.draw(spoiled(good.encode(), 8)))
    record = {"language": language, "code": spoilt, "html": spoilt, "title": good, "query": good}
    found = made(partial(mask_entities, settings=MaskSettings()), {**record, "description": spoilt})
    if found and language not in ("html", "product"):
        assert unmask(found["masked"], found["entities"]) == spoilt
    if language == "python":
        made(partial(parse_trees, settings=ParseSettings(parser="ast")), record)
