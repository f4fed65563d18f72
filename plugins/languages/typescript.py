"""TypeScript (and TSX): names as in JavaScript; types if asked for.

Types are names where only a type can be: annotations, generics, `interface Foo`, `class Foo`,
`extends Foo`, `enum Foo`, `new Foo()`. In `Foo.bar()` and in imports, `Foo` is a name like any
other. Text with a closing tag is read as TSX.
"""

import tree_sitter_typescript

from structkit.structure import Span
from structkit.structure.code import CodeLanguage

from . import _ecmascript

# not here: words that are keywords in some places only (type, declare, readonly, async, get …)
KEYWORDS = """
    await break case catch class const continue debugger default delete do else enum export
    extends false finally for function if import in instanceof let new null return super switch
    this throw true try typeof undefined var void while with yield
    """.split()
GRAMMAR, TSX = (
    _ecmascript.grammar(
        pointer,
        skip="string template_string template_literal_type regex comment",
        type_names="type_identifier",
        types="new_expression>identifier extends_clause>identifier enum_declaration.name",
        # parameters with a variance, which the grammar lacks
        type_text=(r"[<,]\s*(?:const\s+)?(?:(?:in|out)\s+){1,2}[\w$]+(?=\s*(?:[,>=]|extends\b))",),
        reserved=KEYWORDS,
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
OUTLINE = _ecmascript.outline(
    GRAMMAR,
    functions=_ecmascript.functions(GRAMMAR, "public_field_definition"),
    scopes={
        **_ecmascript.CLASSES,
        "abstract_class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "type_alias_declaration": "type",
        "internal_module": "module",
        "module": "module",
    },
    names=_ecmascript.FIELDS,
    other=("</|/>", TSX),
    keywords=KEYWORDS,
)


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "private f<T>(x?: Foo): T { return this.y as T; }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'y']
    """

    aliases = ("ts", "tsx")
    extensions = ("ts", "tsx", "mts", "cts")
    interpreters = ("ts-node", "tsx")
    grammar = GRAMMAR
    outline = OUTLINE

    def names(self, text: str) -> list[Span]:
        grammar = TSX if "</" in text or "/>" in text else GRAMMAR
        return grammar.leaves(text, types=self.types)
