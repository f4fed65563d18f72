"""What holds for code of every language, whatever is done to it.

`LAWS_EVERY=1 pytest tests/test_language_laws.py` reads all real functions; without it, some.
"""

import os
import re
import tarfile
from collections import defaultdict
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hostile.spoiling import spoiled
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, String

from structkit.collecting.kinds import content_kind
from structkit.collecting.units import Units
from structkit.records.jsonl import Records
from structkit.registry import load
from structkit.structure.sentinels import SENTINEL, mask
from tests.sentinels import unmask
from tests.structure.code.sources import CODE, EXTRA, FIXTURES, cases

DATA = Path("../shared/data/codesearch")
REAL = ("go", "java", "javascript", "php", "python", "ruby")
EVERY = int(os.environ.get("LAWS_EVERY", "60"))
# small functions of our own; with the data beside structkit, thousands more
FUNCTIONS = Path("fixtures/code/functions.jsonl")

# words that are never names of anything, and those that are names of members and keys only
STRICT, LOOSE = (
    {language: words for language, words, _ in cases(name)}
    for name in ("never-names", "member-names")
)


@cache
def every_real():
    """(id, code) of real functions, by language."""
    found = defaultdict(list)
    for path, every in [(FUNCTIONS, 1), *((path, EVERY) for path in sorted(DATA.glob("*.gz")))]:
        for row in islice(Records.read([str(path)]), 0, None, every):
            found[row["language"]].append((row["id"], row["code"]))
    return found


def real(language):
    return every_real()[language]


def names(language, text):
    return [text[start:end] for start, end in load("language", language)().names(text)]


def check(language, text):
    """All laws that need no second reading of the text."""
    spans = load("language", language)().names(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    if SENTINEL.search(text):
        return
    masked = mask(text, spans)
    assert unmask(masked.masked, masked.entities) == text
    used = [int(match[1]) for match in SENTINEL.finditer(masked.masked)]
    assert list(dict.fromkeys(used)) == list(range(len(masked.entities)))
    entities = [text[start:end] for start, end in spans if text[start:end] in masked.entities]
    assert [masked.entities[number] for number in used] == entities
    strict, loose = STRICT.get(language, "").split(), LOOSE.get(language, "").split()
    for start, end in spans:
        word = text[start:end]
        assert word not in strict
        assert word not in loose or is_member(text, start, end), (word, text)
    assert set(spans) <= set(load("language", language)(types=True).names(text))


def is_member(text, start, end):
    """Whether a name is one of a member, a key or a method, going by its neighbors."""
    before, after = text[:start].rstrip(), text[end:].lstrip()
    return (
        before.endswith((".", "->", "::", "$", "def", "function", "const", "case", "get", "set"))
        or before.endswith(("{", ",", "alias", "undef", "static", "async", "*"))
        or after.startswith((":", "(", "="))
        or not after[:1].isalnum()
    )


@pytest.mark.parametrize("language", CODE)
@given(data=st.data())
def test_laws_hold_for_edited_fixtures(language, data):
    text = data.draw(st.sampled_from(FIXTURES[language]))
    check(language, data.draw(spoiled(text.encode(), 3)).decode("utf-8", "ignore"))


@pytest.mark.parametrize("language", CODE)
@given(text=st.text(alphabet="ab_ \n.,:;=()[]{}<>'\"`#/*$@\\?é名0", max_size=60))
def test_laws_hold_for_any_characters(language, text):
    check(language, text)


@pytest.mark.parametrize("language", REAL)
def test_laws_hold_for_real_functions(language):
    for _, code in real(language):
        check(language, code)


WRAPPERS = {
    "java": ("class A {\n", "\n}"),
    "javascript": ("class A {\n", "\n}"),
    "php": ("<?php class A {\n", "\n}"),
}


@pytest.mark.parametrize("language", WRAPPERS)
def test_a_bare_method_has_the_names_that_it_has_in_a_class(language):
    """JavaScript's functions and PHP's, which are no methods, are left out."""
    head, tail = WRAPPERS[language]
    compared = 0
    for id, code in real(language):
        if language == "javascript" and (not load("language", language).grammar.member.match(code)):
            continue
        inside = names(language, head + code + tail)
        compared += 1
        assert names(language, code) == inside[language == "javascript" :], id
    assert compared > 0.4 * len(real(language))


LEXERS = {"php": {"startinline": True}}


@pytest.mark.parametrize("language", REAL)
def test_no_entity_stands_in_a_string_or_a_comment(language):
    """By the lexers of Pygments, which know nothing of syntax."""
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False, **LEXERS.get(language, {}))
    for id, code in real(language):
        spans = load("language", language)().names(code)
        inside = {
            at
            for start, kind, value in lexer.get_tokens_unprocessed(code)
            if (kind in Comment or kind in String) and kind not in String.Symbol
            for at in range(start, start + len(value))
        }
        assert [code[start:end] for start, end in spans if start in inside] == [], id


@pytest.mark.parametrize(("language", "text", "types"), cases("types"))
def test_types_come_only_when_asked_for(language, text, types):
    plain, every = (load("language", language)(types=each).names(text) for each in (False, True))
    assert types.split() == [text[start:end] for start, end in every if (start, end) not in plain]


CORPORA = Path("../shared/data/conformance")
TITLE, RULE = (re.compile(each, re.M) for each in (r"^={3,}\n(?:[^=\n].*\n)+={3,}\n", r"^-{3,}\n"))
LITERAL = ("comment", "string_content", "string_fragment", "char_literal", "number", "integer")


def examples(language):
    """The snippets of a grammar's own tests, but for those that have errors on purpose."""
    name = {"csharp": "c-sharp"}.get(language, language)
    with tarfile.open(CORPORA / f"tree-sitter-{name}.tar.xz") as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".txt"):
                text = archive.extractfile(member).read().decode()
                for example in TITLE.split(text.replace("\r\n", "\n"))[1:]:
                    code, *rest = RULE.split(example)
                    tree = "".join(rest)
                    if not re.search(r"ERROR|MISSING", tree) and code.strip():
                        yield code


@pytest.mark.long
@pytest.mark.skipif(not CORPORA.exists(), reason="the grammars' tests are not beside structkit")
@pytest.mark.parametrize("language", [each for each in CODE if each not in EXTRA])
def test_laws_hold_for_the_grammars_own_tests(language):
    kind = content_kind("", "", given=language)
    read = 0
    for code in examples(language):
        read += 1
        check(language, code)
        spans = load("language", language)().names(code)
        nodes = [load("language", language).grammar.parser.parse(code.encode()).root_node]
        if not nodes[0].has_error:
            inside = set()
            while nodes:
                node = nodes.pop()
                if node.type.endswith(LITERAL):
                    inside.update(range(*node.byte_range))
                nodes += node.children
            starts = {len(code[:start].encode()): code[start:end] for start, end in spans}
            assert [] == [name for at, name in starts.items() if at in inside]
        chunks = list(Units("chunk", chunk_chars=40).records("a", code, kind))
        rows = [row for chunk in chunks for row in range(chunk["lines"][0], chunk["lines"][1] + 1)]
        assert sorted(set(rows)) == rows
        assert {at for at, line in enumerate(code.split("\n"), 1) if line.strip()} <= set(rows)
    assert read > 20
