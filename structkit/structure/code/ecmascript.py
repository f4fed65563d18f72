"""What JavaScript and TypeScript share: leaves that are names, lexical rules, and definitions."""

from __future__ import annotations

from structkit.structure.code.lexical import Form, Lexical, block, quoted, until_line, whole
from structkit.structure.code.outline import DocComments

NAMES = (
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
# a regular expression ends on its line; after a name or a bracket a slash divides
PART = r"(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\\n\[])"
LEXICAL = Lexical(
    (
        until_line(r"//|<!--|\A#!"),
        block(),
        quoted('"'),
        quoted("'"),
        Form("`", "`", code=r"\$\{"),
        whole(rf"(?<!<)/(?!>){PART}+(?:/\w*|[^\n]*$)"),  # no tag of JSX
    ),
    plain=(
        r"(?<![\w$.])(?:return|typeof|case|in|of|void|throw|else|do|yield|await)\b[ \t]*(?=/)",
        r"[\w$)\]][ \t]*/(?![/*])",
    ),
)

# what gives a function much like its argument: a component, a callback, a handler
WRAPPER = (
    r"^([\\w$]+[.])?(memo|forwardRef|lazy|dynamic|observer|with[A-Z][\\w$]*|cache|memoize(One)?"
    r"|use([A-Z][\\w$]*)?(Callback|Event)|once|debounce|throttle"
    r"|[\\w$]*([aA]sync|[hH]andler|[wW]rap)[\\w$]*)$"
)
CLOSURES = "(arrow_function) (function_expression) (generator_function)"
DEPTH = 3  # memo(forwardRef(function))


def functions(field: str, *casts: str) -> tuple[str, ...]:
    """The nodes that are functions with a name, given the kind of a class's field and of casts."""
    value = f"[{CLOSURES}]"
    for _ in range(DEPTH):
        inside = "".join(f" ({kind} . {value})" for kind in ("parenthesized_expression", *casts))
        call = f'(call_expression function: (_) @wrapper (#match? @wrapper "{WRAPPER}")'
        value = f"[{CLOSURES}{inside} {call} arguments: (arguments . {value}))]"
    return (
        *("function_declaration", "generator_function_declaration", "method_definition"),
        *(f"variable_declarator value: {value}", f"assignment_expression right: {value}"),
        *(f"pair value: {value}", f"{field} value: {value}"),
        f'export_statement "default" value: {value}',
    )


CLASSES = (
    *("class_declaration", "class name: (_)", "variable_declarator value: (class !name)"),
    *("assignment_expression right: (class !name)", 'export_statement "default" value: (class)'),
)
FIELDS = {"assignment_expression": "left", "pair": "key", "export_statement": "default"}
AROUND = frozenset(
    (
        "assignment_expression",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "expression_statement",
    )
)
# JSDoc in its form alone
LINTERS = (
    r"/\*\*\s*(?:@ts-|@(?:jsx|preserve|__)|eslint|tslint|js[hl]int|istanbul|[cv]8 ignore|prettier)"
)
JSDOC = DocComments(
    begin=r"/\*\*(?!/)",
    gap="any",
    skip=LINTERS,
    overloads=frozenset(("function_signature", "method_signature")),
)
