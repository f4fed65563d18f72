"""Java: names of variables, methods, fields, packages and labels; types if asked for.

Types are names where only a type can be: `Foo x`, `new Foo()`, `List<Foo>`, `class Foo` and its
constructor's name, `@Foo`. In `Foo.bar()` and in imports, `Foo` is a name like any other. Bare
methods are read as they would be inside a class.
"""

from structkit.structure.code import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    SINGLE_QUOTED,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    named_scopes,
)

# not here: words that are keywords in some places only (record, var, yield, sealed, module …)
KEYWORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else
    enum extends false final finally float for goto if implements import instanceof int interface
    long native new null package private protected public return short static strictfp super
    switch synchronized this throw throws transient true try void volatile while
    """.split()
OPAQUE = (LINE_COMMENT, BLOCK_COMMENT, rb'"""(?:\\.|.)*?(?:"""|\Z)', DOUBLE_QUOTED, SINGLE_QUOTED)


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "int f(Foo x) { return this.y + x; }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'y', 'x']
    >>> [text[start:end] for start, end in Language(types=True).names(text)]
    ['f', 'Foo', 'x', 'y', 'x']
    """

    extensions = ("java",)
    package_folders = ("java",)
    grammar = grammar_of(
        "tree_sitter_java",
        skip="string_literal line_comment block_comment",
        type_names="type_identifier",
        types="""
            class_declaration>identifier interface_declaration>identifier
            enum_declaration>identifier record_declaration>identifier
            annotation_type_declaration>identifier constructor_declaration>identifier
            compact_constructor_declaration>identifier marker_annotation>identifier
            marker_annotation>scoped_identifier annotation>identifier annotation>scoped_identifier
            record_pattern>identifier
            """,
        never=(*KEYWORDS, "var", "_"),  # the grammar takes `default` and `_` for names
        keywords=(r"import\s+module\b(?=\s+\w)",),
        opaque=OPAQUE,
        member=r"(?!)",  # bare methods parse too; only other code is put inside a class
        reserved=(),
    )
    outline = Outline(
        grammar,
        functions=(
            "method_declaration body: (_)",
            *(f"{kind}constructor_declaration" for kind in ("", "compact_")),
        ),
        scopes=named_scopes("{}_declaration", "class interface enum record")
        | {"annotation_type_declaration": "annotation"},
        comments=DocComments(begin=r"/\*\*(?!/)|///", gap="run"),
        keywords=KEYWORDS,
    )
