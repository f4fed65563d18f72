"""Strings and comments in code that does not parse: no name is taken there."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.registry import load
from tests.structure.code.sources import CODE, cases, files, language_of

WITHIN = {language_of(path): path for path in files("cases/opaque.json")}


def test_every_language_of_code_has_strings_and_comments():
    assert {*CODE} == {*WITHIN}


@pytest.mark.parametrize("language", WITHIN)
def test_no_name_is_taken_in_a_string_or_a_comment_of_broken_code(language):
    parts = json.loads(WITHIN[language].read_text("utf-8"))
    broken = ["x", "(", "} ", "{", "if", "y =", ";", "\n", "f(x)", ") ", "class", "+", "return "]

    @given(st.lists(st.sampled_from(parts + broken), min_size=2, max_size=12), st.integers(0, 12))
    def law(pieces, cut):
        text = " ".join(pieces)
        text = text[: len(text) - cut]
        spans = load("language", language)().names(text)
        assert [text[start:end] for start, end in spans if "inside" in text[start:end]] == [], text

    law()


@pytest.mark.parametrize(("language", "text", "names"), cases("broken"))
def test_names_of_broken_code(language, text, names):
    plugin = load("language", language)()
    assert plugin.grammar.parser.parse(text.encode()).root_node.has_error
    assert [text[start:end] for start, end in plugin.names(text)] == names.split()
