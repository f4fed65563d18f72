"""Lua: names of variables, functions, fields, parameters and labels."""

import tree_sitter

from structkit.structure.code import (
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
    ByteSpan,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
)

SINGLE_FUNCTION = "(expression_list . (function_definition) .)"
LONG_BRACKET = rb"\[(?P<%b>=*)\[.*?(?:\](?P=%b)\]|\Z)"


def _place_of_variable(value: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of the variable that takes one of several values."""
    values = value.parent
    variables = values.parent.named_children[0] if values and values.parent else None
    if values is None or variables is None:
        return None
    names = variables.children_by_field_name("name")
    at = values.named_children.index(value)
    return names[at].byte_range if at < len(names) else None


def _is_function(node: tree_sitter.Node, *_: object) -> bool:
    """Return whether a function is no value alone: with its variable, it is a function already."""
    if node.type != "function_definition":
        return True
    values = node.parent
    variables = values.prev_named_sibling if values else None
    return max(each.named_child_count for each in (values, variables) if each) > 1


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
            f"assignment_statement (variable_list . (_) .) {SINGLE_FUNCTION}",
            # one of several values
            "(assignment_statement (expression_list (function_definition) @function))",
        ),
        is_function=_is_function,
        comments=DocComments(
            begin="--",
            marks=r"--\[=*\[-*|-+|\]=*\](?:--)?",
            skip=r"---@diagnostic|-- ?(?:luacheck|stylua)\b",
            # what precedes `---`, and the end of a long comment
            hidden=r"\A(?:--(?![-\[])[^\n]*\n)+(?=---(?!-))|\]=*\](?:--)?(?=\s*\Z)",
        ),
        names={
            "assignment_statement": "variable_list",
            "function_definition": _place_of_variable,
        },
        around=("variable_declaration",),
    )
