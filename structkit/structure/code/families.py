"""What languages of one family have in common: JavaScript and TypeScript, C and C++."""

from __future__ import annotations

from structkit.structure.code.lexical import Form, Lexical, block, quoted, until_line, whole

# names, strings, comments and regular expressions of JavaScript and TypeScript
ECMASCRIPT_NAMES = (
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "statement_identifier",
)
# a regular expression ends on its line; after a name or a bracket a slash divides
PART = r"(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\\n\[])"
ECMASCRIPT = Lexical(
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


def c_lexical(*strings: Form) -> Lexical:
    """The comments, directives and strings of C, with these strings added."""
    before = r"(?:(?<!\w)(?:u8|[uUL]))?"
    return Lexical(
        (
            until_line(r"//", escape=r"\\\r?\n"),
            until_line(r"^[ \t]*#[ \t]*(?:error|warning|pragma)\b", escape=r"\\\r?\n"),
            whole(r"#[ \t]*include[ \t]*<[^>\n]*>?"),
            block(),
            *strings,
            quoted('"', before=before),
            quoted("'", before=before),
        ),
        plain=(r"(?<!\w)\d[\w.]*(?:'\w+)+",),  # in a number, a quote separates digits
    )
