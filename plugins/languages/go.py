"""Go: names of variables, functions, methods, fields, packages and labels; types if asked for.

Types are names where only a type can be: `x Foo`, `Foo{}`, `[]Foo`, type parameters, predeclared
types such as `int` and `error`. A conversion `Foo(x)` looks like a call, so `Foo` is a name there;
`f[int](x)` and `fs[i](x)` look like conversions, so `f` and `fs` are types there. `_`, `nil`,
`true`, `false` and `iota` are not names of the program.
"""

import re

import tree_sitter
import tree_sitter_go

from structkit.structure.code import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    SINGLE_QUOTED,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    keywords_of,
)

KEYWORDS = keywords_of(tree_sitter_go.language())
OPAQUE = (LINE_COMMENT, BLOCK_COMMENT, rb"`[^`]*`?", DOUBLE_QUOTED, SINGLE_QUOTED)
# for tools: go/doc's, and linters'
TOOL_DIRECTIVE = r"//(?:[a-z0-9]+:[a-z0-9]|(?:line|extern|export) |nolint\b)"
RECEIVER = re.compile(rb"\b(\w++)\s*+(?:\[[^\[\]]*+\])?\s*+\)$")


def _receiver(node: tree_sitter.Node) -> str:
    """Return the type of a method, without its parameters."""
    receiver = node.child_by_field_name("receiver")
    match = RECEIVER.search(receiver.text or b"") if receiver else None
    return match[1].decode("utf-8", "replace") if match else ""


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "func (s *Foo) f(x int) { s.y, _ = fmt.Print(x) }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['s', 'f', 'x', 's', 'y', 'fmt', 'Print', 'x']
    >>> [text[start:end] for start, end in Language(types=True).names(text)]
    ['s', 'Foo', 'f', 'x', 'int', 's', 'y', 'fmt', 'Print', 'x']
    """

    aliases = ("golang",)
    extensions = ("go",)
    interpreters = ("go", "gorun")
    grammar = grammar_of(
        "tree_sitter_go",
        take="identifier field_identifier package_identifier label_name",
        skip="interpreted_string_literal raw_string_literal comment",
        type_names="type_identifier",
        types="type_parameter_declaration>identifier",
        never="_ nil",
        reserved=(*KEYWORDS, "true", "false", "iota"),
        opaque=OPAQUE,
    )
    outline = Outline(
        grammar,
        functions=("function_declaration body: (_)", "method_declaration body: (_)"),
        scopes={"type_spec": "type", "type_alias": "type"},
        comments=DocComments(begin=r"//|/\*", every=True, skip=TOOL_DIRECTIVE),
        owner=_receiver,
        keywords=KEYWORDS,
    )
