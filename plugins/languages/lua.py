"""Lua: names of variables, functions, fields, parameters and labels."""

from structkit.structure.code.grammar import DOUBLE, SINGLE
from structkit.structure.code.languages import CodeLanguage, grammar_of
from structkit.structure.code.outline import DocComments, Outline

VALUE = "(expression_list . (function_definition) .)"
LONG = rb"\[(?P<%b>=*)\[.*?(?:\](?P=%b)\]|\Z)"


class Language(CodeLanguage):
    """Every name; types have no names of their own."""

    extensions = ("lua", "rockspec")
    interpreters = ("lua", "luajit", "texlua")
    grammar = grammar_of(
        "tree_sitter_lua",
        skip=("string", "comment", "attribute"),
        opaque=(b"--" + LONG % (b"a", b"a"), rb"--[^\n]*", LONG % (b"b", b"b"), DOUBLE, SINGLE),
    )
    outline = Outline(
        grammar,
        functions=(
            *("function_declaration", "field name: (_) value: (function_definition)"),
            f"assignment_statement (variable_list . (_) .) {VALUE}",
        ),
        comments=DocComments(
            begin="--",
            marks=r"--\[=*\[-*|-+|\]=*\](?:--)?",
            skip=r"---@diagnostic|-- ?(?:luacheck|stylua)\b",
            # what precedes `---`, and the end of a long comment
            hidden=r"\A(?:--(?![-\[])[^\n]*\n)+(?=---(?!-))|\]=*\](?:--)?(?=\s*\Z)",
        ),
        names={"assignment_statement": "variable_list"},
        around=frozenset(("variable_declaration",)),
    )
