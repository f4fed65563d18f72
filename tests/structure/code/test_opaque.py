"""Strings and comments in code that does not parse: no name is taken there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.registry import load
from tests.structure.code.sources import ABSENT, cases

C = ['"inside"', '"in\\"side inside"', "// inside's\n", '/* inside " */', "'\"'"]
WITHIN = {
    "bash": ["'inside'", '"inside\'s"', "# inside's\n", "$'in\\'side inside'"],
    "dart": ['"inside"', "// inside's\n", "/* inside ' */", '"""\n inside "inside" \n"""'],
    "powershell": ["'inside'", "# inside's\n", "<# inside ' #>"],
    "sql": ["'inside'", "-- inside's\n", "/* inside ' */", "$x$ inside ' $x$"],
    "zig": ['"inside"', "// inside's\n", "\\\\ inside's\n"],
    "elixir": ['"inside"', "# inside's\n", '"""\ninside "inside" \n"""', '"in\\"side inside"'],
    "kotlin": [*C, '"""\n inside "inside" \n"""'],
    "lua": ["'inside'", '"in\\"side inside"', "-- inside's\n", "--[[ inside' ]]", "[==[\ninside]]"],
    "scala": [*C, '"""\n inside "inside" \n"""'],
    "swift": [*C[:4], '"""\n inside "inside" \n"""'],
    "c": [*C, "\n#error don't \"inside\n", "#include <inside.h>\n", 'L"inside"'],
    "cpp": [*C, 'R"x(inside " inside)x"', "\n#pragma inside'\"\n", "1'000"],
    "csharp": [*C, '@"inside ""inside"', '$"a {inside + "inside"} b"', '"""inside " """'],
    "go": [*C, "`inside \" ' inside`"],
    "java": [*C, '"""\n inside "inside" \n"""'],
    "javascript": [*C, "'inside'", "`inside ${inside + `inside`} inside`", "= /inside\"['/]/;"],
    "php": [*C, "'inside'", "\"inside {$inside['inside']} inside\"", "# inside's\n"]
    + ["<<<EOT\n inside \" '\nEOT;\n", "<<<'X'\ninside\"\nX;\n"],
    "python": ['"inside"', "'in\\'side inside'", "# inside's\n", '"""\ninside\n"\n"""']
    + ['f"{inside["inside"]} inside"', "rb'inside'", "f'''{inside:{inside}}\n inside'''"],
    "ruby": ['"inside"', "'inside'", "# inside's\n", '"#{inside["inside"]} inside"']
    + ["\n=begin\ninside\n=end\n", "%w[inside [inside] inside]", "= /inside\"'/"]
    + ["= <<~SQL + <<-'X' + y\ninside \"\nSQL\ninside\nX\n"],
    "rust": [*C, 'r#"inside " inside"#', "/* inside /* inside */ inside */", "&'a ", 'b"inside"'],
    "typescript": [*C, "'inside'", "`inside ${inside + `inside`} inside`"],
}


@pytest.mark.parametrize("language", sorted(WITHIN.keys() - ABSENT))
def test_no_name_is_taken_in_a_string_or_a_comment_of_broken_code(language):
    parts = WITHIN[language]
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
