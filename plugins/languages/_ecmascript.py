"""JavaScript and TypeScript: their common name leaves, strings and comments, definitions.

Tests: tests/structure/code/test_languages.py.
"""

import re
from functools import partial

import tree_sitter

from structkit.structure.code import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
    DocComments,
    Grammar,
    Outline,
    nested,
    owner_and_name,
)

NAMES = """
    identifier property_identifier private_property_identifier statement_identifier
    shorthand_property_identifier shorthand_property_identifier_pattern
    """
# words that are keywords in some places only: `accessor x`, `import defer *`, `<in out T>`
KEYWORDS = (
    r"accessor(?<![.\w$]accessor)[ \t]+(?!(?:in|of|instanceof|as|satisfies|is)\b)(?=[\w$#\"'])",
    r"import[ \t]+(?:defer(?=[ \t]*\*)|source(?=[ \t]+[\w$]+[ \t]+from\b))",
    r"out(?<=[<,\s]out)[ \t]+(?=[A-Za-z_$])(?!(?:in|of|instanceof|as|satisfies|is)\b)",
)
TEMPLATE_STRING = rb"`(?:\\.|\$%b|[^`\\])*+`?"
CODE_IN_STRING = nested(
    rb"\{", rb"\}", rb"(?:[^{}`\"']|`(?:\\.|[^`\\])*+`|%b|%b)*+" % (DOUBLE_QUOTED, SINGLE_QUOTED)
)
# it ends on its line; after a name or a bracket a slash divides
REGEX_LITERAL = rb"(?<!<)/(?!>)(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\\n\[])++(?:/\w*|[^\n]*$)"
OPAQUE = (
    rb"(?P<code>(?<![\w$.])(?:return|typeof|case|in|of|void|throw|else|do|yield|await)\b[ \t]*(?=/)"
    rb"|[\w$)\]][ \t]*/(?![/*]))",
    rb"(?://|<!--|\A#!)[^\n]*",
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
    TEMPLATE_STRING % CODE_IN_STRING,
    REGEX_LITERAL,
)

# calls that return a function much like their argument: a component, a callback, a handler
WRAPPER = re.compile(
    r"""
    (?<![\w$]) (?: [\w$]++ \. )?+                                    # an object
    (?: memo | forwardRef | observer | with[A-Z][\w$]*               # React
      | use (?: [A-Z][\w$]* )? (?: Callback | Event )
      | cache | memoize (?: One )? | once | debounce | throttle
      | asyncHandler | expressAsyncHandler | asyncWrap (?: per )?    # Express
      | wrapAsync | catchAsync (?: Errors )?
    )
    """,
    re.VERBOSE,
)
CLOSURE_KINDS = ("arrow_function", "function_expression", "generator_function")
WRAPPER_KINDS = (
    "call_expression",
    "parenthesized_expression",
    "as_expression",
    "satisfies_expression",
)

grammar = partial(
    Grammar,
    take=NAMES,
    never="constructor",  # a method that the language names
    keywords=KEYWORDS,
    opaque=OPAQUE,
)
CLASSES = {
    "class_declaration": "class",
    "class name: (_)": "class",
    "variable_declarator value: (class !name)": "class",
    "assignment_expression right: (class !name)": "class",
    'export_statement "default" value: (class)': "class",
}
FIELDS = {"assignment_expression": "left", "pair": "key", "export_statement": "default"}
# keywords that may be names
MEMBERS = (
    "method_definition pair field_definition public_field_definition export_statement"
).split()
NAMED = (*MEMBERS, "variable_declarator", "assignment_expression")  # give a value their name
AROUND = """
    assignment_expression export_statement lexical_declaration variable_declaration
    expression_statement
    """.split()


def functions(grammar: Grammar, field: str) -> tuple[str, ...]:
    """Return the nodes that may be named functions; `field` is the kind of a class's fields."""
    kinds = " ".join(
        f"({kind})" for kind in (*CLOSURE_KINDS, *WRAPPER_KINDS) if kind in grammar.kinds
    )
    return (
        "function_declaration",
        "generator_function_declaration",
        "method_definition",
        "function_expression name: (_)",
        "generator_function name: (_)",
        f"variable_declarator value: [{kinds}]",
        f"assignment_expression right: [{kinds}]",
        f"pair value: [{kinds}]",
        f"{field} value: [{kinds}]",
        f'export_statement "default" value: [{kinds}]',
    )


def is_function(node: tree_sitter.Node, *_: object) -> bool:
    """Return whether a node's value is a function, as in `memo(forwardRef(() => …))`.

    A function expression has its own name, unless it is such a value.
    """
    if node.type in CLOSURE_KINDS:
        around = node.parent
        while around and around.type in (*WRAPPER_KINDS, "arguments"):
            around = around.parent
        return not (around and around.type in NAMED and is_function(around))
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    while value and value.type in WRAPPER_KINDS:
        if value.type == "call_expression":
            wrapper = value.child_by_field_name("function")
            if not wrapper or not WRAPPER.fullmatch((wrapper.text or b"").decode()):
                return False
            value = value.child_by_field_name("arguments")
        inside = value.named_children if value else []
        value = next((child for child in inside if child.type != "comment"), None)
    return value is None or value.type in CLOSURE_KINDS


def split_name(text: str) -> tuple[str, str]:
    """Return the class or object of a function, if any, and its name.

    >>> split_name("Foo.prototype.bar")
    ('Foo', 'bar')
    """
    owner, name = owner_and_name(text)
    return owner.removesuffix(".prototype"), name


# of linters, or of a type alone
SKIP = (
    r"/\*\*\s*(?:@ts-|@(?:jsx|preserve|__)|eslint|tslint|js[hl]int|istanbul|[cv]8 ignore|prettier)"
    r"|(?:[^\0]*\n)?[ \t/*]*@(?:typedef|callback|import|module|namespace)\b"
)
JSDOC = DocComments(
    begin=r"/\*\*(?!/)",
    gap="any",
    skip=SKIP,
    overloads=("function_signature", "method_signature"),
)
outline = partial(
    Outline,
    is_function=is_function,
    comments=JSDOC,
    split_name=split_name,
    around=AROUND,
    members=MEMBERS,
)
