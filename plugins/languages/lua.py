"""Lua: names of variables, functions, fields, parameters and labels."""

from structkit.structure.code import (
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
)

LONG_BRACKET = rb"\[(?P<%b>=*)\[.*?(?:\](?P=%b)\]|\Z)"


class Language(CodeLanguage):
    """Every name; types have no names of their own."""

    extensions = ("lua", "rockspec")
    interpreters = ("lua", "luajit", "texlua")
    grammar = grammar_of(
        "tree_sitter_lua",
        skip="string comment attribute",
        opaque=(
            b"--" + LONG_BRACKET % (b"a", b"a"),
            rb"--[^\n]*",
            LONG_BRACKET % (b"b", b"b"),
            DOUBLE_QUOTED,
            SINGLE_QUOTED,
        ),
    )
    outline = Outline(
        grammar,
        functions=(
            "function_declaration",
            "field name: (_) value: (function_definition)",
            "assignment_statement (variable_list . (_) .) "
            "(expression_list . (function_definition) .)",
        ),
        comments=DocComments(
            begin="--",
            marks=r"--\[=*\[-*|-+|\]=*\](?:--)?",
            skip=r"---@diagnostic|-- ?(?:luacheck|stylua)\b",
            # what precedes `---`, and the end of a long comment
            hidden=r"\A(?:--(?![-\[])[^\n]*\n)+(?=---(?!-))|\]=*\](?:--)?(?=\s*\Z)",
        ),
        names={"assignment_statement": "variable_list"},
        around=("variable_declaration",),
    )
