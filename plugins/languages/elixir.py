"""Elixir: names of variables, functions and modules; keys and atoms are literals."""

import tree_sitter

from structkit.structure.code import (
    ByteSpan,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    named_scopes,
)

CALL_OF = "call target: (identifier) @_word"
IS_DEF = '(#match? @_word "^def(macro|guard)?p?$")'
WITHOUT_BODY = '(#any-of? @_word "defguard" "defguardp" "defdelegate")'
# nodes whose first child has the name
NODES_BEFORE_NAME = ("arguments", "binary_operator", "unary_operator", "block", "call")
# the text of the last `@doc`, unless a callback has it
LAST_DOC = (
    r'@doc\s+(?:~[sS])?(?:"{3}[^\S\n]*\n([^\0]*)"{3}|"((?:\\[^\0]|[^\\"])*)")|@(?:macro)?callback()'
)


def _place_of_name(node: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of the name that `def` and its like define."""
    name = next((child for child in node.children if child.type == "arguments"), None)
    while name and name.type in NODES_BEFORE_NAME:
        operator = name.child_by_field_name("operator")
        if operator and operator.type != "when":  # `def a + b`
            return operator.byte_range
        name = name.named_children[0] if name.named_children else None
    return name.byte_range if name else None


class Language(CodeLanguage):
    """Every name; types have none of their own."""

    extensions = ("ex", "exs")
    interpreters = ("elixir",)
    grammar = grammar_of(
        "tree_sitter_elixir",
        take="identifier alias",
        skip="string charlist sigil quoted_atom quoted_keyword comment",
        # with the macros that define, and those that look like statements
        never="""
            _ __CALLER__ __DIR__ __ENV__ __MODULE__ __STACKTRACE__ alias case cond def defdelegate
            defexception defguard defguardp defimpl defmacro defmacrop defmodule defoverridable
            defp defprotocol defstruct for if import quote raise receive require reraise super
            throw try unless unquote unquote_splicing use with
            """,
        keywords=(r"@(?:behaviour|derive|impl|opaque|spec|typep?|(?:macro)?callback|\w*doc)\b",),
        opaque=(rb'"{3}.*?(?:"{3}|\Z)', rb'"(?:\\.|[^"\\])*+"?', rb"#(?!\{)[^\n]*"),
    )
    outline = Outline(
        grammar,
        functions=(
            f"{CALL_OF} (do_block) {IS_DEF}",
            f"{CALL_OF} (arguments (keywords)) {IS_DEF}",
            f"{CALL_OF} {WITHOUT_BODY}",
            f'{CALL_OF} (arguments . (string)) (do_block) (#eq? @_word "test")',
        ),
        scopes=named_scopes(CALL_OF + ' (do_block) (#eq? @_word "def{}")', "module protocol impl"),
        comments=DocComments("(?!)", "any", between=("unary_operator",), attribute=LAST_DOC),
        names={"call": _place_of_name},
        keywords=("unquote",),
    )
