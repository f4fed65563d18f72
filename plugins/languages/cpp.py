"""C++: names of variables, functions, methods, fields, namespaces and labels; types if asked for.

Types are names where only a type can be: `Foo x`, `new Foo`, `class Foo`, `vector<Foo>`,
destructors. In `Foo::bar()` and in a constructor's definition, `Foo` is a name like any other. The
body of a macro is raw text: nothing in it is an entity.
"""

import re
from functools import partial

import tree_sitter_cpp

from structkit.structure.code import (
    CodeLanguage,
    blank_out,
    grammar_of,
    keywords_of,
    named_scopes,
)

from . import _preprocessor

KEYWORDS = keywords_of(
    tree_sitter_cpp.language(), without="final noreturn offsetof override restrict"
).union(
    """
    auto bool char char16_t char32_t char8_t const_cast contract_assert decltype double
    dynamic_cast export false float int noexcept reinterpret_cast static_cast this true typeid
    void wchar_t _BitInt
    """.split(),
    _preprocessor.COMPILER_KEYWORDS,
)
# `class EXPORT Name {`, `class api(1) Name final {`, and a macro on the line before a namespace
MACROS = re.compile(
    rb"(?:(?<=\bclass )|(?<=\bstruct ))(?:[A-Z][A-Z0-9_]+(?=\s+(?!final\b)\w+\s*[:{])"
    rb"|\w+(?:\([^()]*\))?(?=\s+[\w:]+(?:<[^<>{};]*>)?\s+final\s*[:{]))"
    rb"|^[A-Z][A-Z0-9_]+[ \t]*$(?=\s*(?:inline\s+)?namespace\b)",
    re.M,
)
# words that are none in other places; with `\b` in front each word would be tried
WORDS_OF_PLACES = [
    re.compile(pattern)
    for pattern in (
        rb"export(?<!\wexport)\b(?=\s*+[\w:{\[])",
        # the line of a module or of its import
        *(
            rb"%b(?:(?<![^\n]%b)|(?<=\bexport %b))"
            rb"\s*+(?:|\w[^;{}()=\n]*+|[<\":](?!:)[^;{}()=\n]*+);" % (word, word, word)
            for word in (b"module", b"import")
        ),
    )
]


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "Foo *ns::f(std::vector<Foo> x) { return static_cast<Foo *>(this->y(x)); }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['ns', 'f', 'std', 'x', 'y', 'x']
    """

    aliases = ("c++", "cxx", "cc")
    # fmt: off
    extensions = (
        "cpp", "cc", "cxx", "c++", "C", "hpp", "hh", "hxx", "h++", "H",
        "cppm", "ixx", "ipp", "inl", "tpp", "tcc", "txx", "ino",
    )
    # fmt: on
    claims = (
        "h",
        r"(?m)^[ \t]*(?:template\s*<|(?:public|private|protected)[ \t]*:|class\s+[^;{}()=]*[;{]"
        r"|(?:inline[ \t]+)?namespace\b[^;{}()=]*\{|using[ \t]+(?:namespace[ \t]+)?[\w:]+[ \t]*[;=]"
        r"|#[ \t]*include[ \t]*<[a-z_]+>)|\bstd::\w",
    )
    grammar = grammar_of(
        "tree_sitter_cpp",
        take="identifier field_identifier namespace_identifier statement_identifier",
        skip="""
            string_literal raw_string_literal char_literal user_defined_literal system_lib_string
            comment preproc_arg attribute_specifier attribute_declaration operator_name
            """,
        type_names="type_identifier",
        types="destructor_name",
        never=KEYWORDS,  # static_cast and its like are functions in this grammar
        # of modules, at the start of a line
        keywords=tuple(
            rf"{word}(?:(?<![^\n]{word})|(?<=\bexport {word}))(?=[ \t]*(?:[;\w<\"]|:(?!:)))"
            for word in ("module", "import")
        ),
        # the type of an object parameter
        type_text=(
            r"this(?<=\(this)\s+(?!(?:and|or|xor|not_eq|bitand|bitor)\b)(?:const\s+)?[\w:]+",
        ),
        opaque=(*_preprocessor.DIRECTIVES, *_preprocessor.OPAQUE),
        repair=partial(blank_out, MACROS),
        reserved=(),
    )
    outline = _preprocessor.outline(
        grammar,
        functions=("function_definition body: (_)", "function_definition (try_statement)"),
        scopes=named_scopes("{}_specifier body: (_)", "class struct union enum")
        | named_scopes("{}_definition", "namespace type"),
        keywords=KEYWORDS,
        prepare=partial(_preprocessor.preprocess, more=WORDS_OF_PLACES),
        around=("template_declaration",),
    )
