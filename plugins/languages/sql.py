"""SQL: names of tables, views, columns, functions and parameters.

Tables and views are definitions, as functions are. What dollar quotes hold is code of a function,
in any language: no name is taken there.
"""

import re

from structkit.structure.code import (
    BLOCK_COMMENT,
    CodeLanguage,
    DocComments,
    Outline,
    Prepared,
    grammar_of,
    overwrite,
)

DEFINITION_STATEMENTS = [
    f"create_{kind}"
    for kind in ("function", "procedure", "trigger", "view", "materialized_view", "table")
]
OPAQUE = (
    rb"--[^\n]*",
    BLOCK_COMMENT,
    rb"'(?:''|[^'])*+'?",
    rb"(?P<dollars>\$\w*\$).*?(?:(?P=dollars)|\Z)",
)
DOLLAR_QUOTED = re.compile(rb"(\$\w*\$)(.*?)\1", re.DOTALL)


def _without_bodies(data: bytes) -> Prepared:
    """Return code with blanks for what dollar quotes hold, which is not SQL alone."""
    seen = bytearray(data)
    for match in DOLLAR_QUOTED.finditer(data):
        overwrite(seen, *match.span(2))
    return Prepared(bytes(seen))


class Language(CodeLanguage):
    """Every name; types have no names of their own."""

    aliases = ("postgresql", "plpgsql", "mysql", "sqlite")
    extensions = ("sql", "ddl", "pgsql")
    grammar = grammar_of(
        "tree_sitter_sql",
        skip="literal comment marginalia function_language",
        opaque=OPAQUE,
    )
    outline = Outline(
        grammar,
        functions=tuple(DEFINITION_STATEMENTS),
        comments=DocComments(begin=r"--|/\*", marks=r"-+|/?\*+(?!/)"),
        names=dict.fromkeys(DEFINITION_STATEMENTS, "object_reference"),
        around=("statement",),
        prepare=_without_bodies,
    )
