"""TypeScript (and TSX): names as in JavaScript; types if asked for.

Types are what stands where only a type can: annotations, generics, `interface Foo`, `class Foo`,
`extends Foo`, `enum Foo`, `new Foo()`. In `Foo.bar()` and in imports, `Foo` is a name like any
other. Text with a closing tag is read as TSX.
"""

from __future__ import annotations

import tree_sitter_typescript

from structkit.structure.code.languages import CodeLanguage
from structkit.structure.code.lexical import Form, Lexical, block, quoted, until_line, whole
from structkit.structure.code.spans import Span
from structkit.structure.code.treesitter import Grammar

# not here: words that are keywords in some places only (type, declare, readonly, async, get …)
KEYWORDS = (
    "await break case catch class const continue debugger default delete do else enum export "
    "extends false finally for function if import in instanceof let new null return super switch "
    "this throw true try typeof undefined var void while with yield"
).split()
# a regular expression ends on its line; the sign behind a name or a bracket divides
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
GRAMMAR, TSX = (
    Grammar.load(
        pointer,
        take=(
            "identifier",
            "property_identifier",
            "private_property_identifier",
            "shorthand_property_identifier",
            "shorthand_property_identifier_pattern",
            "statement_identifier",
        ),
        skip=("string", "template_string", "template_literal_type", "regex", "comment"),
        type_names=("type_identifier",),
        types=("new_expression>identifier", "extends_clause>identifier", "enum_declaration.name"),
        reserved=KEYWORDS,
        lexical=LEXICAL,
        member=(
            r"\s*(?:(?:public|private|protected|abstract|override|static|readonly)\s"
            r"|(?:async|get|set)\s+(?!function)[#\w$]+\s*[<(]|constructor\s*\()"
        ),
    )
    for pointer in (
        tree_sitter_typescript.language_typescript(),
        tree_sitter_typescript.language_tsx(),
    )
)


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "private f<T>(x?: Foo): T { return this.y as T; }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'y']
    """

    aliases = ("ts", "tsx")
    grammar = GRAMMAR

    def names(self, text: str) -> list[Span]:
        grammar = TSX if "</" in text or "/>" in text else GRAMMAR
        return grammar.leaves(text, types=self.types)
