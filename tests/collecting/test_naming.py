"""Names that are given once, beside those of github-slugger 2.0.0 and docutils 0.22.4."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.collecting.naming import UniqueNames
from structkit.collecting.pages import MarkdownPage
from structkit.collecting.restructured import Restructured

HERE = Path(__file__).parent


def recorded(name):
    """Pairs of a heading and the anchor that the other program gave it, in one document."""
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("page", "write", "name"),
    [
        (MarkdownPage, "# <b></b>{}\n\nText.\n\n", "github_slugs.jsonl"),
        (Restructured, "{}\n" + "=" * 80 + "\n\nText.\n\n", "docutils_ids.jsonl"),
    ],
)
def test_anchors_are_those_of_the_other_program(page, write, name):
    pairs = recorded(name)
    marked = {"`code` *emph*": r"\`code\` \*emph\*", "__init__": r"\_\_init\_\_"}
    text = "".join(write.format(marked.get(heading, heading)) for heading, _ in pairs)
    assert [anchor for _, anchor in pairs] == [each.anchor for each in page(text).headings]


@given(st.lists(st.sampled_from(["a", "a-1", "a-1-1", "b", "", "-1"])), st.sampled_from([1, 2]))
def test_no_name_is_given_twice(names, first):
    taken = UniqueNames("-", first)
    given_names = [taken.take(name) for name in names]
    assert len(names) == len({*given_names})
    for name, unique in zip(names, given_names, strict=True):
        assert unique == name or unique.startswith(f"{name}-")
