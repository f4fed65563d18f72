"""Kotlin: names of variables, functions, properties and packages; types if asked for."""

import re

import tree_sitter

from structkit.structure.code import (
    BLOCK_COMMENT,
    LINE_COMMENT,
    OPAQUE_FLAGS,
    PARENTHESES,
    SINGLE_QUOTED,
    ByteSpan,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    overwrite,
)

STRING_LITERAL = rb'"(?:\\.|\$\{(?:[^{}"\n]|"(?:\\.|[^"\\\n])*+")*+\}|[^"\\\n])*+"?'
OPAQUE = (
    LINE_COMMENT,
    BLOCK_COMMENT,
    rb'(?P<dollars>\$*+)(?:"{3}.*?(?:"{3}(?!")|\Z)|%b)' % STRING_LITERAL,
    SINGLE_QUOTED,
)
VISIBILITY = rb"(?:private|protected|internal|public)"
# words that may be names where no declaration follows
MODIFIERS = (
    rb"(?:abstract|actual|annotation|companion|const|crossinline|data|dynamic|enum|expect|external"
    rb"|final|infix|inline|inner|internal|lateinit|noinline|open|operator|override|private"
    rb"|protected|public|reified|sealed|tailrec|value|vararg)"
)
AS_NAME = re.compile(
    rb"""
    (?<![\w@`])
    (?:
        %b (?= \s*+ (?: [(.,)\[?!;:{] | =(?!=) | [-+*/]= | -> | (?:as|is)\b ) | [ \t]*+\n )
        | (?: by | get | set | suspend | where ) (?= \s*+ (?: [.,)] | =(?!=) | -> | (?:as|is)\b ) )
        | ^[ \t]*+ (?: get (?=\(\s*+[^)\s]) | [gs]et (?=%b(?!\s*+[:={])) )  # a call, no accessor
    )
    """
    % (MODIFIERS, PARENTHESES),
    re.MULTILINE | re.VERBOSE,
)
# what the grammar lacks, and what it has in the same place: instead of the group, or the whole
NEWER_SYNTAX = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        # the last declaration of a body on its line lacks the end that the grammar needs
        (rb"(?<=[^\s{;,(]) (?=\})", b";"),
        # parameters of the context: an annotation is at the same place
        (
            rb"(?:\A|[\n{};)\]])[ \t]*+(context\s*+\([^()]*+(?:\([^()]*+\)[^()]*+)*+\))"
            rb"(?=\s*+(?:@|[a-z]))",
            b"@c",
        ),
        (rb"(?<=[(:,] )context\s*+\([^()]*+\)(?=\s*+\()", b""),  # of a type
        # guards of `when`
        (rb"else\s++if(?=[^\n{};]{0,300}?->)", b""),
        (rb"(?<=[\w)\]\"'])\s(if)(?<!else\sif)(?=\b[^\n{};]{0,300}?->)", b","),
        # explicit backing fields
        (rb"\n[ \t]*+(field)(?=[ \t]*+[:=])", b"val f"),
        (rb"@all:(?=\w)", b"    @"),
        # accessors on the line of their property
        (rb";[ \t]*+(?=(?:%b[ \t]++)?[gs]et\b)" % VISIBILITY, b""),
        (
            rb"(?:%b[ \t]++)?(?:@\w++[ \t]++)?+%b[ \t]++set\b(?!\s*+\()" % (VISIBILITY, VISIBILITY),
            b"",
        ),
        (
            rb"(?:@\w++(?:%b)?+\s++){1,6}+(?=(?:%b\s++)?[gs]et\s*+\()" % (PARENTHESES, VISIBILITY),
            b"",
        ),
        (rb",(?=\s*+>)", b""),
        (rb"suspend(?=\s*+(?:\{|fun\s*+\())", b""),
        # modifiers of a constructor on the line after its class
        (rb"(?:(?:%b|@\w++)\s++){1,6}+(?=constructor\b)" % MODIFIERS, b""),
    )
]


def _with_older_syntax(data: bytes) -> bytes:
    """Return code as the grammar reads it; every character keeps its place."""
    tokens = re.compile(b"|".join(OPAQUE), OPAQUE_FLAGS)
    kept = bytearray(data)
    plain = bytearray(data)
    for token in tokens.finditer(data):
        sign = b" " if token[0].startswith(b"/") else b'"'
        plain[slice(*token.span())] = re.sub(rb"[^\n]", sign, token[0])
        if token["dollars"]:
            overwrite(kept, *token.span("dollars"))
    code = bytes(plain)
    for pattern, instead in NEWER_SYNTAX:
        for match in pattern.finditer(code):
            overwrite(kept, *match.span(match.lastindex or 0), instead)
    for match in AS_NAME.finditer(code):
        kept[match.end() - 1] -= 32  # another letter makes it a name
    return bytes(kept)


def _place_of_property(node: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of a property's name, without its type."""
    declared = next((each for each in node.children if each.type == "variable_declaration"), None)
    return declared.named_children[0].byte_range if declared else None


class Language(CodeLanguage):
    """Every name; `types` adds the names of types."""

    extensions = ("kt", "kts")
    package_folders = ("kotlin",)
    test_endings = ("Spec.kt",)
    interpreters = ("kotlin", "kscript")
    grammar = grammar_of(
        "tree_sitter_kotlin",
        skip="""
            string_literal multiline_string_literal character_literal line_comment block_comment
            file_annotation
            """,
        types="user_type type_parameter class_declaration.name type_alias>identifier",
        never="""
            _ as break class continue do else false for fun if in interface is it null object
            package return super this throw true try typealias typeof val var when while
            """,
        reserved=(),
        keywords=(r"\b(?:break|continue|return|super|this)@\w+",),  # labels are one with their @
        within=dict.fromkeys(("getter", "setter"), rb"(?<![.\w])field\b"),
        opaque=OPAQUE,
        repair=_with_older_syntax,
    )
    outline = Outline(
        grammar,
        functions=(
            "function_declaration (function_body)",
            "secondary_constructor (block)",
            "property_declaration (getter (function_body))",
        ),
        scopes={
            'class_declaration "interface"': "interface",
            "class_declaration": "class",
            "object_declaration": "object",
            "companion_object name: (_)": "object",
        },
        comments=DocComments(begin=r"/\*\*(?![*/])", gap="any"),
        names={
            "secondary_constructor": "constructor",
            "property_declaration": _place_of_property,
        },
        heads=re.compile(
            rb"\b(?:(?P<container>class|interface|object)|fun|val|var|init|get|set)\b"
        ),
    )
