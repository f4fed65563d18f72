"""Zig: names of variables, functions, fields and types, which are values like any other."""

from structkit.structure.code import (
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    named_scopes,
)


class Language(CodeLanguage):
    """Every name; types have no names of their own."""

    extensions = ("zig", "zon")
    grammar = grammar_of(
        "tree_sitter_zig",
        skip="string multiline_string character comment builtin_type",
        never="_",
        opaque=(rb"//[^\n]*", rb"\\\\[^\n]*", DOUBLE_QUOTED, SINGLE_QUOTED),
    )
    outline = Outline(
        grammar,
        functions=("function_declaration body: (_)", "test_declaration (string)"),
        scopes=named_scopes("variable_declaration ({}_declaration)", "struct enum union opaque"),
        comments=DocComments(begin="///(?!/)", gap="blank"),
        names={"variable_declaration": "identifier", "test_declaration": "string"},
    )
