"""C: names of variables, functions, fields, macros, enumerators and labels; types if asked for.

Types are names where only a type can be: `Foo x`, `struct foo`, `(Foo *)x`. In `sizeof(Foo)`
a type looks like a variable. The body of a macro is raw text: nothing in it is an entity.
"""

import tree_sitter_c

from structkit.structure.code import CodeLanguage, grammar_of, keywords_of, named_scopes

from . import _preprocessor

KEYWORDS = keywords_of(tree_sitter_c.language(), without="asm noreturn offsetof").union(
    """
    bool char double false float int static_assert true typeof typeof_unqual void _BitInt _Bool
    _Complex _Decimal128 _Decimal32 _Decimal64 _Imaginary _Static_assert _Thread_local
    """.split(),
    _preprocessor.COMPILER_KEYWORDS,
)


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "static Foo *f(const Foo *x) { goto end; end: return g(x->y, 'z'); }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'end', 'end', 'g', 'x', 'y']
    """

    extensions = ("c", "h")
    interpreters = ("tcc",)
    grammar = grammar_of(
        "tree_sitter_c",
        take="identifier field_identifier statement_identifier",
        skip="""
            string_literal char_literal system_lib_string comment preproc_arg attribute_specifier
            attribute_declaration
            """,
        type_names="type_identifier",
        never=KEYWORDS,
        opaque=(*_preprocessor.DIRECTIVES, *_preprocessor.OPAQUE),
        reserved=(),
    )
    outline = _preprocessor.outline(
        grammar,
        functions=("function_definition body: (_)",),
        scopes=named_scopes("{}_specifier body: (_)", "struct union enum")
        | {"type_definition": "type"},
        keywords=KEYWORDS,
        prepare=_preprocessor.preprocess,
    )
