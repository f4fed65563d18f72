"""Rust: names of variables, functions, methods, fields, modules, macros and labels; types too.

Types are names where only a type can be: `x: Foo`, `Foo { .. }`, `impl Foo`, `struct Foo`;
`--types` adds them. In the path `Foo::new()`, in imports and inside the brackets of a macro, `Foo`
is a name like any other, but not a primitive type as in `u32::MAX`; a variant of an enumeration is
a name. Lifetimes and attributes are neither names nor types.
"""

import re

from structkit.structure import Span
from structkit.structure.code import (
    LINE_COMMENT,
    OPAQUE_FLAGS,
    CodeLanguage,
    DocComments,
    Outline,
    Prepared,
    grammar_of,
    named_scopes,
    nested,
    overwrite,
)

KEYWORDS = """
    _ Self abstract as async await become box break const continue crate do dyn else enum extern
    false final fn for if impl in let loop macro match mod move mut override priv pub ref return
    self static struct super trait true type typeof unsafe unsized use virtual where while yield
    """.split()
# words that are keywords in some places only
SOFT_KEYWORDS = (
    r"safe\s+(?=(?:fn|static)\b)",
    r"auto\s+(?=trait\b)",
    r"gen\s+(?=(?:fn|move)\b|\{)",
    r"do\s+yeet\b",
    r"default\s+(?=(?:async|const|extern|fn|impl|type|unsafe)\b)",
)
PRIMITIVE_TYPES = (
    "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize".split()
)
OPAQUE = (
    LINE_COMMENT,
    nested(rb"/\*", rb"\*/", rb"(?:(?!/\*|\*/).)*+"),
    rb"/\*.*",
    rb'(?<!\w)[bc]?r(?P<raw>#*)".*?(?:"(?P=raw)|\Z)',
    rb'(?:(?<!\w)[bc])?"(?:\\.|[^"\\])*+"?',
    rb"(?P<code>'[A-Za-z_]\w*\b(?!'))",  # lifetimes
    rb"(?:(?<!\w)b)?'(?:\\[^\n][^'\n]*|[^'\\\n])[\x80-\xbf]*'",
)
DOC_ATTRIBUTE = r'#!?\[\s*doc\s*=\s*(?:r(#*)"([^\0]*?)"\1|"((?:\\[^\0]|[^\\"])*)")\s*\]'
COMMENTS = DocComments(
    begin=r"///(?!/)|/\*\*(?![*/])",
    gap="any",
    every=True,
    attribute=DOC_ATTRIBUTE,
)
# a macro that begins with an item, as `cfg_if!` and `proptest!`
MACRO_OF_ITEMS = re.compile(
    rb"!(?<=\w!)\s*+\{(?=(?:\s|//[^\n]*+|#!?\[[^\]]*+\])*+(?:if\s+#\[|(?:pub\b\s*+(?:\([^)]*+\)\s*+)?)?"
    rb"(?:(?:const|async|unsafe|extern)\s+(?:\"\w*+\"\s*+)?)*+"
    rb"(?:fn|impl|mod|trait|struct|enum|use)\b))"
)
MACRO_HEAD = re.compile(rb"^[ \t]*+((?:\w++::)*+\w++)\Z", re.MULTILINE)
OPAQUE_OR_BRACE = re.compile(
    b"|".join((*OPAQUE, rb"(?P<branch>(?:else\s+)?if\s+#\[[^\]]*+\]\s*+\{|else\s*+\{)", rb"[{}]")),
    OPAQUE_FLAGS,
)


def _with_items(data: bytes) -> Prepared:
    """Return code without the heads and ends of macros that hold items."""
    macros = list(MACRO_OF_ITEMS.finditer(data))
    starts = [data.rfind(b"\n", 0, match.start()) + 1 for match in macros]
    heads = {
        match.end(): head.start(1)
        for match, start in zip(macros, starts, strict=True)
        if (head := MACRO_HEAD.match(data, start, match.start()))
    }
    seen, open_ = bytearray(data), list[bool]()
    for brace in OPAQUE_OR_BRACE.finditer(data) if heads else ():
        start, end = brace.span()
        if brace[0] == b"}":
            blank = bool(open_) and open_.pop()
        elif brace[0].endswith(b"{") and (brace["branch"] or brace[0] == b"{"):
            start = heads.get(end, start)
            blank = end in heads or bool(brace["branch"] and open_ and open_[-1])
            open_.append(blank)
        else:
            continue
        if blank:
            overwrite(seen, start, end)
    return Prepared(bytes(seen))


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "fn f<'a>(x: &'a Foo) -> u8 { std::mem::swap(&x.y, 'z'); vec![x] }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'std', 'mem', 'swap', 'x', 'y', 'vec', 'x']
    """

    aliases = ("rs",)
    extensions = ("rs",)
    interpreters = ("rust-script",)
    grammar = grammar_of(
        "tree_sitter_rust",
        take="identifier field_identifier shorthand_field_identifier metavariable",
        skip="""
            string_literal raw_string_literal char_literal line_comment block_comment lifetime
            attribute_item inner_attribute_item
            """,
        type_names="type_identifier",
        never=KEYWORDS,  # macros hold any word
        keywords=SOFT_KEYWORDS,
        opaque=OPAQUE,
        reserved=(),
    )
    outline = Outline(
        grammar,
        functions=("function_item",),
        prepare=_with_items,
        heads=re.compile(rb"\b(?:(?P<container>impl|mod|trait)|fn|struct|enum|union)\b"),
        scopes=named_scopes("{}_item", "struct enum union trait impl type")
        | {"mod_item": "module", "macro_definition": "macro"},
        comments=COMMENTS,
        names={"impl_item": "type"},
        keywords=KEYWORDS,
    )

    def names(self, text: str) -> list[Span]:
        """Return every name; a primitive type at the start of a path is none."""
        return [
            (start, end)
            for start, end in super().names(text)
            if text[start:end] not in PRIMITIVE_TYPES
            or not text.startswith("::", end)
            or text.endswith("::", 0, start)  # the module std::str
        ]
