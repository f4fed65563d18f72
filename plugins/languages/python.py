"""Python: names that are not keywords, not in strings and not in comments."""

import ast
import inspect
import keyword
import re
import warnings

import tree_sitter

from structkit.structure import Span
from structkit.structure.code import (
    CodeLanguage,
    DocComments,
    Outline,
    from_bytes,
    grammar_of,
    nested,
    parse,
)

# the code in an f-string may hold strings
CODE_IN_STRING = nested(rb"\{", rb"\}", rb"""(?:[^{}"'\n]|"[^"\n]*+"|'[^'\n]*+')*+""")
FORMATTED = rb"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])"
STRING_PREFIX = rb"(?:(?<!\w)[rRbBuU]{1,2})?"
TRIPLE_QUOTE = rb"""(?P<%b>"{3}|'{3})"""
SHORT_QUOTE = rb"""(?P<%b>["'])"""
OPAQUE = (
    rb"#[^\n]*",
    FORMATTED + TRIPLE_QUOTE % b"a" + rb"(?:\\.|\{\{|%b|(?!(?P=a)).)*+(?P=a)?" % CODE_IN_STRING,
    FORMATTED
    + SHORT_QUOTE % b"b"
    + rb"(?:\\.|\{\{|%b|(?!(?P=b))[^\\\n])*+(?P=b)?" % CODE_IN_STRING,
    STRING_PREFIX + TRIPLE_QUOTE % b"c" + rb"(?:\\.|(?!(?P=c)).)*+(?P=c)?",
    STRING_PREFIX + SHORT_QUOTE % b"d" + rb"(?:\\.|(?!(?P=d))[^\\\n])*+(?P=d)?",
)
# strings include f-strings with all that is inside; `__future__` is a literal in this grammar
STRING_KINDS = ("string", "concatenated_string", "parenthesized_expression")
# a string that is its own value
PLAIN_STRING = re.compile(r"""[uU]?('{3}|"{3}|'|")([^\\\r]*)\1""")
DEFINITION_KINDS = ("decorated_definition", "function_definition", "class_definition")


def docstring(definition: tree_sitter.Node) -> tuple[tree_sitter.Node, str] | None:
    """Return the string that a function or class begins with, and its value."""
    body = definition.child_by_field_name("body")
    statements = (each for each in (body.named_children if body else ()) if each.type != "comment")
    first = next(statements, None)
    if first is None or first.type != "expression_statement" or first.named_child_count != 1:
        return None
    string = first.named_children[0]
    value = _value(string) if string.type in STRING_KINDS else None
    return None if value is None else (string, value)


def _value(string: tree_sitter.Node) -> str | None:
    """Return the value of an expression as Python reads it, if it is a string."""
    text = (string.text or b"").decode("utf-8", "replace")
    if string.type == "string" and (match := PLAIN_STRING.fullmatch(text)):
        return match[2]
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes that do not exist
            value = ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if not isinstance(value, str):
        return None
    # half of a surrogate pair is no text
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _documentation(definition: tree_sitter.Node) -> str:
    found = docstring(definition)
    return inspect.cleandoc(found[1]).strip() if found else ""


class Language(CodeLanguage):
    """Every name, as the standard tokenizer finds it; soft keywords only where they are names.

    Types have no names of their own: `types` changes nothing.

    >>> text = "def f(x): return x"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'x']
    """

    aliases = ("py", "python2", "python3")
    # PEP 263: in a comment on the first line, or on the second one below a comment or a blank line
    encoding = (
        r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))??[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)",
    )
    extensions = ("py", "pyi", "pyw")
    interpreters = ("python", "python2", "python3", "pypy3", "uv")
    grammar = grammar_of(
        "tree_sitter_python",
        take="identifier __future__",
        skip="string comment",
        reserved=keyword.kwlist,
        opaque=OPAQUE,
    )
    outline = Outline(
        grammar,
        functions=("function_definition",),
        scopes={"class_definition": "class"},
        comments=DocComments(docstring=_documentation),
        around=("decorated_definition",),
        keywords=keyword.kwlist,
    )

    def docstring(self, text: str) -> Span | None:
        r"""Return the span of the first function's or class's docstring, with quotes.

        >>> Language().docstring('def f():\n    "Say hello."\n    return 1')
        (13, 25)
        """
        data = text.encode("utf-8")
        definition = _first_definition(parse(self.grammar.parser, data).root_node)
        found = docstring(definition) if definition else None
        return from_bytes(text, data, [found[0].byte_range])[0] if found else None


def _first_definition(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the function or class that a module begins with, decorated or not."""
    while node.type not in ("function_definition", "class_definition"):
        statements = [child for child in node.named_children if child.type != "comment"]
        inner = [child for child in statements if child.type in DEFINITION_KINDS] or statements[:1]
        if not inner or node.type not in ("module", "ERROR", *DEFINITION_KINDS):
            return None
        node = inner[0]
    return node
