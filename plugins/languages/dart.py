"""Dart: names of variables, functions, methods, fields and libraries; types if asked for."""

import tree_sitter

from structkit.structure.code import (
    ByteSpan,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    named_scopes,
)

CONSTRUCTORS = ("constructor_signature", "factory_constructor_signature")


def _place_of_name(signature: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of a function's name, or of a constructor's with its class."""
    if signature.type == "method_signature":
        signature = signature.named_children[-1]
    if signature.type == "operator_signature":
        operator = signature.child_by_field_name("parameters") or signature.named_children[-1]
        return operator.prev_sibling.byte_range if operator.prev_sibling else None
    names = [child for child in signature.children if child.type == "identifier"]
    if not names:
        return None
    first = names[0] if signature.type in CONSTRUCTORS else names[-1]
    return first.start_byte, names[-1].end_byte


def _last(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the body of a signature: it is the node after it."""
    after = node.next_sibling if node.type.endswith("_signature") else None
    return after if after and after.type == "function_body" else node


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    extensions = ("dart",)
    interpreters = ("dart",)
    grammar = grammar_of(
        "tree_sitter_dart",
        skip="string_literal comment documentation_comment",
        type_names="type_identifier",
        types="""
            class_definition.name mixin_declaration>identifier extension_declaration.name
            enum_declaration.name constructor_signature.name annotation.name
            """,
    )
    outline = Outline(
        grammar,
        functions=(
            "(_ (function_signature) @function . (function_body))",
            "(_ (method_signature) @function . (function_body))",
        ),
        scopes={"class_definition": "class"}
        | named_scopes("{}_declaration", "mixin extension enum"),
        comments=DocComments(begin=r"///|/\*\*(?![*/])", gap="blank"),
        names={
            "function_signature": _place_of_name,
            "method_signature": _place_of_name,
            "mixin_declaration": "identifier",
        },
        last=_last,
    )
