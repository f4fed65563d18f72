"""Kotlin: names of variables, functions, properties and packages; types if asked for."""

import re
from functools import partial

import tree_sitter

from structkit.structure.code.languages import CodeLanguage, grammar_of
from structkit.structure.code.outline import ByteSpan, DocComments, Outline


def _place_of_property(node: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of a property's name, without its type."""
    declared = next((each for each in node.children if each.type == "variable_declaration"), None)
    return declared.named_children[0].byte_range if declared else None


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    extensions = ("kt", "kts")
    interpreters = ("kotlin", "kscript")
    grammar = grammar_of(
        "tree_sitter_kotlin",
        skip="string_literal character_literal line_comment block_comment file_annotation".split(),
        types=("user_type", "type_parameter", "class_declaration.name", "type_alias>identifier"),
        never=(
            "_ as break class continue do else false for fun if in interface is it null object "
            "package return super this throw true try typealias typeof val var when while".split()
        ),
        reserved=(),
        keywords=(r"\b(?:break|continue|return|super|this)@\w+",),  # labels are one with their @
        within=dict.fromkeys(("getter", "setter"), rb"(?<![.\w])field\b"),
        # the last declaration of a body on its line lacks the end that the grammar needs
        repair=partial(re.compile(rb"(?<=[^\s{;,(]) (?=\})").sub, b";"),
    )
    outline = Outline(
        grammar,
        functions=(
            *("function_declaration (function_body)", "secondary_constructor (block)"),
            "property_declaration (getter (function_body))",
        ),
        scopes={
            'class_declaration "interface"': "interface",
            "class_declaration": "class",
            "object_declaration": "object",
            "companion_object name: (_)": "object",
        },
        comments=DocComments(begin=r"/\*\*(?![*/])", gap="any"),
        names={
            "secondary_constructor": "constructor",
            "property_declaration": _place_of_property,
        },
    )
