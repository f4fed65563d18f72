"""Python: names that are not keywords, not in strings and not in comments."""

from __future__ import annotations

import keyword

import tree_sitter_python

from structkit.structure.code.lexical import Form, Lexical, until_line
from structkit.structure.code.parsing import parse
from structkit.structure.code.spans import Span, from_bytes
from structkit.structure.code.treesitter import Grammar

ALIASES = ("py", "python2", "python3")
PREFIX = r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])"
LEXICAL = Lexical(
    (
        until_line("#"),
        Form(PREFIX + r"""("{3}|'{3})""", "{0}", escape=r"\\.|\{\{", code=r"\{"),
        Form(PREFIX + r"""(["'])""", r"{0}|(?=\n)", escape=r"\\.|\{\{", code=r"\{", line=True),
        Form(r"""(?:(?<!\w)[rRbBuU]{1,2})?("{3}|'{3})""", "{0}"),
        Form(r"""(?:(?<!\w)[rRbBuU]{1,2})?(["'])""", r"{0}|(?=\n)", line=True),
    )
)
# strings include f-strings with all that is inside; `__future__` is a literal in this grammar
GRAMMAR = Grammar.load(
    tree_sitter_python.language(),
    take=("identifier", "__future__"),
    skip=("string", "comment"),
    reserved=keyword.kwlist,
    lexical=LEXICAL,
)


def entities(text: str, *, types: bool = False) -> list[Span]:
    """Every name, as the standard tokenizer finds it; soft keywords only where they are names.

    Types have no names of their own: `types` changes nothing.

    >>> [text[start:end] for text in ["def f(x): return x"] for start, end in entities(text)]
    ['f', 'x', 'x']
    """
    return GRAMMAR.leaves(text, types=types)


def docstring(text: str) -> Span | None:
    r"""Where the docstring of the first function or class stands, quotes included.

    >>> docstring('def f():\n    "Say hello."\n    return 1')
    (13, 25)
    """
    data = text.encode("utf-8")
    node = parse(GRAMMAR.parser, data).root_node
    while node.type not in ("function_definition", "class_definition"):
        named = [child for child in node.named_children if child.type != "comment"]
        inner = [child for child in named if child.type in DEFINITIONS] or named[:1]
        if not inner or node.type not in ("module", "ERROR", *DEFINITIONS):
            return None
        node = inner[0]
    body = node.child_by_field_name("body")
    statements = [child for child in body.named_children if child.type != "comment"] if body else []
    if not statements or statements[0].type != "expression_statement":
        return None
    first = statements[0].named_children
    if len(first) != 1 or first[0].type not in ("string", "concatenated_string"):
        return None
    return from_bytes(text, data, [first[0].byte_range])[0]


DEFINITIONS = ("decorated_definition", "function_definition", "class_definition")
