"""C and C++ with macros and conditionals: the functions that a reader of the code would name."""

from operator import itemgetter
from time import thread_time

import pytest
from structkit_plugins.languages._preprocessor import preprocess

from structkit.registry import load
from tests.structure.code.sources import cases


def paths(language, text):
    program = load("language", language).outline.parse(text, text.encode())
    return [each.path for each in program.definitions if each.kind == "function"]


@pytest.mark.parametrize("case", cases("macros"), ids=itemgetter(0))
def test_functions_beside_macros(case):
    name, text, expected = case
    language = name.partition(",")[0]
    # what is around keeps its place
    text = f"int before(void) {{ return 1; }}\n{text}\nint after(void) {{ return 2; }}\n"
    assert ["before", *expected.split(", "), "after"] == paths(language, text)
    data, seen = text.encode(), preprocess(text.encode()).data
    assert [*map(len, data.split(b"\n"))] == [*map(len, seen.split(b"\n"))]


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("case", cases("conditionals"), ids=itemgetter(0))
def test_one_branch_of_a_conditional_is_read(case, language):
    _, inside, expected = case
    text = f"int f(int a) {{\n  {inside}\n}}\nint after(void) {{ return 2; }}\n"
    assert [*expected.split(), "after"] == paths(language, text)


def test_both_branches_with_whole_functions_are_read():
    text = "#if A\nint f(void) { }\n#else\nint g(void) { }\n#endif\n#if 0\nint h(void) { }\n#endif"
    assert ["f", "g"] == paths("c", text)
    assert ["f", "g"] == paths("cpp", text)


def test_heads_that_differ_have_one_function_with_the_lines_of_the_first():
    text = "#if A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return 1;\n}\n"
    [found] = load("language", "c").outline.parse(text, text.encode()).definitions
    assert ("f", 1, 6) == (found.name, found.row, found.end_row)


@pytest.mark.parametrize(("language", "text", "_"), cases("keyword-functions"))
def test_a_keyword_is_no_name_of_a_function(language, text, _):
    assert {"f", "A.f"} >= set(paths(language, text))


def test_members_may_have_a_keyword_for_a_name():
    assert ["A.delete", "A.constructor"] == paths(
        "javascript", "class A { delete() { } constructor() { } }"
    )
    assert ["A.class"] == paths("ruby", "class A\n  def class\n  end\nend\n")
    assert ["A.list"] == paths("php", "<?php class A { function list() { } }")


HOSTILE = (
    *(b"MACRO(", b"MACRO ", b"MACRO(a) ", b"MACRO T<", b"/*", b'"', b"'", b'R"x(', b"#if 1\n"),
    *(b"#if 1\n#else\n#endif\n", b"class A ", b"class A(", b") MACRO "),
    *(b"\\\n", b"MACRO a::b<", b"(", b"{", b"TEST(a) {"),
)


@pytest.mark.long
@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear(unit):
    def seconds(size):
        start = thread_time()
        preprocess(unit * (size // len(unit)))
        return thread_time() - start

    # of what is quadratic, 16 times as much takes 256 times as long
    small = min(seconds(10_000) for _ in range(3))
    assert min(seconds(160_000) for _ in range(3)) < 80 * small + 0.5
