"""Scala: names of variables, functions, objects, packages and enumerators; types if asked for."""

import re

import tree_sitter

from structkit.structure.code import (
    CodeLanguage,
    DocComments,
    Outline,
    Prepared,
    blank_out,
    grammar_of,
    leads,
    named_scopes,
)

TYPE_DEFINITIONS = [f"{kind}_definition" for kind in ("class", "enum", "given", "trait")]


# a template without members, which the grammar takes for one with all that follows
EMPTY_TEMPLATE = re.compile(
    rb":[ \t]*+\n(?:[ \t]*+(?://[^\n]*+)?+\n)*+[ \t]*+end[ \t]++[\w`]++[ \t]*+$", re.MULTILINE
)


def _without_empty_templates(data: bytes) -> Prepared:
    return Prepared(blank_out(EMPTY_TEMPLATE, data))


def _last(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the last token of a node that is no comment: indentation alone ends a block."""
    while children := [child for child in node.children if child.text and not leads(child)]:
        node = children[-1]
    return node


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    extensions = ("scala", "sc", "sbt", "mill")
    package_folders = ("scala",)
    test_endings = ("Spec.scala",)
    interpreters = ("scala", "scala-cli", "amm")
    grammar = grammar_of(
        "tree_sitter_scala",
        skip="""
            string interpolated_string_expression character_literal comment block_comment
            using_directive
            """,
        type_names="type_identifier",
        types=(*(f"{kind}>identifier" for kind in TYPE_DEFINITIONS), "type_parameters"),
        never="null super this",
    )
    outline = Outline(
        grammar,
        functions=("function_definition",),
        scopes=named_scopes("{}_definition", "class enum given trait object")
        | {"package_object": "object"},
        last=_last,
        prepare=_without_empty_templates,
        comments=DocComments(begin=r"/\*\*(?![*/])", gap="any"),
    )
