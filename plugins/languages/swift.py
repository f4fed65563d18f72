"""Swift: names of variables, functions, properties and modules; types if asked for."""

import re
from functools import partial

from structkit.structure.code import (
    BRACES,
    DOUBLE_QUOTED,
    CodeLanguage,
    DocComments,
    Outline,
    blank_out,
    grammar_of,
    named_scopes,
    nested,
)

NAMELESS = {f"{kind}_declaration": kind for kind in ("init", "deinit", "subscript")}

# macros and messages of the compiler among members, which the grammar lacks
MACRO_ARGUMENTS = nested(rb"\(", rb"\)", rb'(?:[^()"]|%b)*+' % DOUBLE_QUOTED)
MEMBER_MACRO = re.compile(
    rb"^[ \t]*+#(?!if|else)\w++(?:%b)?+(?:[ \t]*+%b)?+(?=[ \t]*+(?://|$))"
    % (MACRO_ARGUMENTS, BRACES),
    re.MULTILINE,
)


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    extensions = ("swift",)
    interpreters = ("swift",)
    grammar = grammar_of(
        "tree_sitter_swift",
        take="simple_identifier",
        skip="""
            line_string_literal multi_line_string_literal raw_string_literal regex_literal comment
            multiline_comment attribute precedence_group_attributes
            """,
        type_names="type_identifier",
        types="type_constraint",
        never="_ self Self init deinit subscript super defer fallthrough",
        keywords=(r"\$\d+\b", r"\b(?:break|continue)[ \t]+\w+"),  # labels are one with their colon
    )
    outline = Outline(
        grammar,
        functions=(
            "function_declaration body: (_)",
            "property_declaration computed_value: (_)",
            *NAMELESS,
        ),
        scopes=named_scopes('class_declaration "{}"', "class struct enum extension actor")
        | {"protocol_declaration": "protocol"},
        comments=DocComments(begin=r"///|/\*\*(?![*/])", gap="blank"),
        names=NAMELESS,
        repair=partial(blank_out, MEMBER_MACRO),
        heads=re.compile(
            rb"\b(?:(?P<container>class|struct|enum|extension|protocol|actor)"
            rb"|func|var|let|init|deinit|subscript|get|set)\b"
        ),
    )
