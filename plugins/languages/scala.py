"""Scala: names of variables, functions, objects, packages and enumerators; types if asked for."""

from structkit.structure.code.languages import CodeLanguage, grammar_of
from structkit.structure.code.outline import DocComments, Outline

TYPES = [f"{kind}_definition" for kind in ("class", "enum", "given", "trait")]


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    extensions = ("scala", "sc", "sbt", "mill")
    interpreters = ("scala", "scala-cli", "amm")
    grammar = grammar_of(
        "tree_sitter_scala",
        skip=(
            "string interpolated_string_expression character_literal comment block_comment "
            "using_directive".split()
        ),
        type_names=("type_identifier",),
        types=(*(f"{kind}>identifier" for kind in TYPES), "type_parameters"),
        never=("null", "super", "this"),
    )
    outline = Outline(
        grammar,
        functions=("function_definition",),
        scopes={
            **{f"{kind}_definition": kind for kind in ("class", "enum", "given", "trait")},
            "object_definition": "object",
            "package_object": "object",
        },
        comments=DocComments(begin=r"/\*\*(?![*/])", gap="any"),
    )
