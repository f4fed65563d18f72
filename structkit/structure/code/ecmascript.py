"""What JavaScript and TypeScript have in common: names, strings, comments, regular expressions."""

from __future__ import annotations

from structkit.structure.code.lexical import Form, Lexical, block, quoted, until_line, whole

NAMES = (
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
# a regular expression ends on its line; after a name or a bracket the sign divides
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
