"""C#: names of variables, methods, properties, fields, namespaces and labels; types if asked for.

Types are names where only a type can be: `Foo x`, `new Foo()`, `List<Foo>`, `class Foo : Bar`
and its constructors' names, `x as Foo`, `[Foo]`. In `Foo.Bar()`, in patterns without a variable and
in imports, `Foo` is a name like any other. Bare methods are read as they would be inside a class.
"""

import html
import re
from functools import partial

import tree_sitter

from structkit.structure.code import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PARENTHESES,
    SINGLE_QUOTED,
    ByteSpan,
    CodeLanguage,
    DocComments,
    Outline,
    Prepared,
    blank_out,
    grammar_of,
    named_scopes,
    nested,
    overwrite,
)

# not here: words that are keywords in some places only (async, get, record, value, where …)
KEYWORDS = """
    abstract as base bool break byte case catch char checked class const continue decimal default
    delegate do double else enum event explicit extern false finally fixed float for foreach goto
    if implicit in int interface internal is lock long namespace new null object operator out
    override params private protected public readonly ref return sbyte sealed short sizeof
    stackalloc static string struct switch this throw true try typeof uint ulong unchecked unsafe
    ushort using virtual void volatile while
    """.split()
CODE_IN_STRING = nested(rb"\{", rb"\}", rb'(?:[^{}"\n]|%b)*+' % DOUBLE_QUOTED)
OPAQUE = (
    LINE_COMMENT,
    BLOCK_COMMENT,
    rb"^[ \t]*#[ \t]*(?:region|endregion|error|warning|pragma|line|nullable)\b[^\n]*",
    rb'\$*(?P<raw>"{3,}).*?(?:(?P=raw)|\Z)',
    rb'(?:@\$|\$@)"(?:""|\{\{|%b|[^"])*+"?' % CODE_IN_STRING,
    rb'@"(?:""|[^"])*+"?',
    rb'\$"(?:\\.|\{\{|%b|[^"\\\n])*+"?' % CODE_IN_STRING,
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
)
# the backing field, and what is assigned
FIELD_KEYWORD = rb"(?<![.\w@])field\b(?!\s*=>)"
FIELD_OR_VALUE = rb"(?<![.\w@])(?:field|value)\b"
# the head of a block of extensions, which the grammar lacks
EXTENSION = re.compile(
    rb"extension(?<![\w>\]?][ \t]extension)(?<=\bextension)\s*+(?:<[^<>]*+>\s*+)?%b"
    rb"(?:\s*+where\b[^{;]*+)?+(?=\s*+\{)" % PARENTHESES
)
# of documentation
CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.S)
XML_NAME = re.compile(r"<[^<>]*\b(?:cref|name|langword)=\"(?:\w:)?([^\"]*)\"[^<>]*/>")
XML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# the `?` of `x?.y = z`, which it lacks too
CONDITION = re.compile(
    rb"(?<=[\w)\]!])\?(?=(?:\.[A-Za-z_@]|\[)[^;{}\n\"]{0,200}?[^=!<>](?:<<|>>)?=[^=>])"
)


# the name of an operator that assigns, which it lacks as well
ASSIGNING = re.compile(
    rb"operator(?<!\woperator)(?:\s++checked)?+\s*+(?:[-+*/%&|^]|<<|>>>?)=(?=\s*+\()"
)


def _prepare(data: bytes) -> Prepared:
    """Return code in which blocks of extensions (C# 14) are structures without a name."""
    seen = bytearray(data)
    names: dict[int, tuple[str, str]] = {}
    for match in EXTENSION.finditer(data):
        overwrite(seen, *match.span(), b"struct e ")
        names[match.start() + 7] = ("", "")
    for match in ASSIGNING.finditer(data):
        seen[match.end() - 1] = ord(" ")
        names[match.start()] = ("", " ".join(match[0].decode().split()))
    return Prepared(bytes(seen), names)


def _place_with_signs(field: str, node: tree_sitter.Node) -> ByteSpan | None:
    """Return the bytes of a name with the signs before it, which belong to it."""
    name = node.child_by_field_name(field)
    if name is None:
        return None
    start, sign = name.start_byte, name.prev_sibling
    while sign and sign.type in ("operator", "checked", "~"):
        start, sign = sign.start_byte, sign.prev_sibling
    return start, name.end_byte


def _without_tags(text: str) -> str:
    """Return the text of XML documentation.

    >>> _without_tags('<summary>As <see cref="T:Foo"/> &amp; so.</summary>')
    'As Foo & so.'
    """
    text = CDATA.sub(lambda match: html.escape(match[1]), text)
    return html.unescape(XML_TAG.sub("", XML_NAME.sub(r"\1", text)))


class Language(CodeLanguage):
    """Every name; `types` adds the names of types.

    >>> text = "public Foo F<T>(List<T> x) { var y = (Bar)x.Z; return new Foo(y); }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['F', 'x', 'y', 'x', 'Z', 'y']
    """

    aliases = ("c#", "cs", "c-sharp")
    extensions = ("cs", "csx")
    grammar = grammar_of(
        "tree_sitter_c_sharp",
        take="identifier implicit_parameter",
        skip="""
            string_literal verbatim_string_literal raw_string_literal character_literal
            interpolated_string_expression comment preproc_arg
            """,
        # a field `type` is a type, whatever its parent
        types="""
            class_declaration>identifier struct_declaration>identifier enum_declaration>identifier
            interface_declaration>identifier record_declaration>identifier
            delegate_declaration>identifier constructor_declaration>identifier
            destructor_declaration>identifier method_declaration.returns as_expression.right
            attribute.name base_list>identifier base_list>qualified_name base_list>generic_name
            primary_constructor_base_type>identifier type_argument_list type_parameter_list
            type_parameter_constraints_clause explicit_interface_specifier array_type.type
            cast_expression.type catch_declaration.type conversion_operator_declaration.type
            declaration_expression.type declaration_pattern.type default_expression.type
            event_declaration.type foreach_statement.type indexer_declaration.type
            local_function_statement.type nullable_type.type object_creation_expression.type
            operator_declaration.type parameter.type parameter_list.type pointer_type.type
            property_declaration.type recursive_pattern.type ref_type.type sizeof_expression.type
            tuple_element.type type_pattern.type typeof_expression.type variable_declaration.type
        """,
        # words of the language that look like a function or a namespace
        never="var _ nameof global __arglist __makeref __reftype __refvalue",
        reserved=KEYWORDS,
        keywords=(r"[{;}\]]\s*(?:get|set|init|add|remove)\s*(?=[;{]|=>)", r"\ballows(?=\s+ref\b)"),
        within={
            "property_declaration>arrow_expression_clause": FIELD_KEYWORD,
            "accessor_declaration>get": FIELD_KEYWORD,
            **{
                f"accessor_declaration>{kind}": FIELD_OR_VALUE
                for kind in ("set", "init", "add", "remove")
            },
        },
        opaque=OPAQUE,
        member=r"\s*(?:\[[^\]]*\]\s*)*(?:public|private|protected|internal|override|virtual)\s",
    )
    outline = Outline(
        grammar,
        functions=(
            "method_declaration body: (_)",
            "constructor_declaration",
            "local_function_statement",
            *(f"{kind}operator_declaration body: (_)" for kind in ("", "conversion_")),
            "destructor_declaration body: (_)",
            "indexer_declaration value: (_)",
            *(
                f"{kind}_declaration accessors: (_ (accessor_declaration body: (_)))"
                for kind in ("property", "indexer", "event")
            ),
        ),
        names={
            "operator_declaration": partial(_place_with_signs, "operator"),
            "conversion_operator_declaration": partial(_place_with_signs, "type"),
            "destructor_declaration": partial(_place_with_signs, "name"),
            "indexer_declaration": "this",
        },
        members=("indexer_declaration",),
        prepare=_prepare,
        repair=partial(blank_out, CONDITION),
        heads=re.compile(rb"\b(?P<container>class|struct|interface|record|namespace)\b"),
        scopes=named_scopes("{}_declaration", "class struct interface enum record namespace"),
        comments=DocComments(
            begin=r"///(?!/)|/\*\*(?![*/])",
            gap="any",
            markup=_without_tags,
            # #pragma and #region may
            between=frozenset(kind for kind in grammar.kinds if kind.startswith("preproc_")),
        ),
        around=("global_statement",),
        keywords=KEYWORDS,
    )
