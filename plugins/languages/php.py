"""PHP: names of variables, functions, methods, properties, constants, namespaces and labels.

The `$` of a variable stays outside the entity: `$x`, the property `->x` and the argument `x:` are
one name. `$this` is a keyword. Types are names where only a type can be: declared types, `new Foo`,
`instanceof Foo`, `class Foo extends Bar`, traits, `#[Foo]`; in `Foo::bar()` and in imports, `Foo`
is an ordinary name. HTML holds no names: a text is a file if it begins with `<`, or has a tag,
`<?php` or `?>` after text that does not look like code. All other text is code; bare methods are
read as if inside a class.
"""

import re

import tree_sitter_php

from structkit.structure import Span
from structkit.structure.code import (
    BLOCK_COMMENT,
    DOUBLE_QUOTED,
    CodeLanguage,
    DocComments,
    Grammar,
    Outline,
    named_scopes,
    nested,
)

RESERVED_WORDS = """
    abstract and array as break callable case catch class clone const continue declare default die
    do echo else elseif empty enddeclare endfor endforeach endif endswitch endwhile eval exit
    extends false final finally fn for foreach function global goto if implements include
    include_once instanceof insteadof interface isset list match namespace new null or print
    private protected public readonly require require_once return self static switch this throw
    trait true try unset use var while xor yield parent __halt_compiler __class__ __dir__ __file__
    __function__ __line__ __method__ __namespace__ __property__ __trait__
    """.split()
# PHP ignores case; other spellings are not used in practice
KEYWORDS = frozenset(
    f(word) for word in RESERVED_WORDS for f in (str.lower, str.upper, str.capitalize)
)
OPENING_TAG = rb"<\?(?:php\b|=)?"
CODE_IN_STRING = nested(rb"\{", rb"\}", rb'(?:[^{}"]|%b)*+' % DOUBLE_QUOTED)
OPAQUE_IN_CODE = (
    rb"\?>.*?(?:%b|\Z)" % OPENING_TAG,  # HTML
    rb"(?://|#(?!\[))(?:(?!\?>)[^\n])*+",
    BLOCK_COMMENT,
    rb"'(?:\\.|[^'\\])*+'?",
    rb'"(?:\\.|(?=\{\$)%b|\$%b|[^"\\])*+"?' % (CODE_IN_STRING, CODE_IN_STRING),
    rb"`(?:\\.|[^`\\])*+`?",
    rb"<<<[ \t]*[\"']?(?P<label>[A-Za-z_]\w*)[\"']?\r?\n.*?(?:^[ \t]*(?P=label)(?!\w)|\Z)",
)
PHP_TAG = re.compile(r"\A\s*<|<\?|\?>")
# how a text begins that is a file: with HTML, and not with code
FILE_START = re.compile(
    r"""
    \s*+ <
    # an opening tag; code has one in strings and comments alone
    | (?: (?! // | /\* | <<< | \?> | <\?(?:php\b|=) ) [^"'#] )*+ <\?
    # a tag after text that does not look like code
    | (?: (?! [$;{}] | \w\( | \b(?:else|end(?:if|for|foreach|while|switch)|echo|print)\b
          | <\?(?:php\b|=) | \?> ) . )*+ (?: <\? | \?> )
    """,
    re.VERBOSE | re.DOTALL,
)
OPAQUE_IN_FILE = (rb"\A(?!\s*<\?).*?(?:%b|\Z)" % OPENING_TAG, *OPAQUE_IN_CODE)
GRAMMAR, FILE_GRAMMAR = (
    Grammar(
        pointer,
        take="name",
        skip="string encapsed_string heredoc nowdoc shell_command_expression comment",
        types="""
            named_type base_clause class_interface_clause use_instead_of_clause>name
            class_declaration>name interface_declaration>name trait_declaration>name
            enum_declaration>name attribute>name attribute>qualified_name
            object_creation_expression>name object_creation_expression>qualified_name
            use_declaration>name use_declaration>qualified_name
            """,
        member=(
            r"\s*(?:#\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*)*+"  # attributes
            r"(?:public|protected|private|static|abstract|final|var)\s+(?!fn\b)"
        ),
        opaque=forms,
        keywords=(
            r"(?i)\([ \t]*void[ \t]*\)(?=\s*[\w$\\(])",  # a cast
            # of the hooks of a property
            r"[{;}\]]\s*(?:final\s+)?&?\s*[gs]et(?=\s*(?:=>|[{;]|\([^()]*\)\s*(?:=>|\{)))",
        ),
        # has no node of its own, and other operators have constants on their right
        type_text=(r"instanceof\s+[\w\\]+",),
    )
    for pointer, forms in (
        (tree_sitter_php.language_php_only(), OPAQUE_IN_CODE),
        (tree_sitter_php.language_php(), OPAQUE_IN_FILE),
    )
)
# follows the name of an enum's case, but not a value that a switch compares with
AFTER_ENUM_CASE = re.compile(r"\s*(?:;|=(?!=))")


OUTLINE = Outline(
    FILE_GRAMMAR,
    functions=("function_definition", "method_declaration body: (_)", "property_hook body: (_)"),
    scopes={
        **named_scopes("{}_declaration", "class interface trait enum"),
        "property_declaration (property_hook_list)": "property",
        "property_promotion_parameter (property_hook_list)": "property",
    },
    comments=DocComments(
        begin=r"/\*\*\s",
        gap="any",
        file_start=("php_tag",),
    ),
    names={"property_declaration": "property_element", "property_hook": "name"},
    keywords=KEYWORDS,
    members=("method_declaration",),
)


class Language(CodeLanguage):
    r"""Every name; `types` adds the names of types.

    >>> text = "function f(?Foo $x) { return $this->y + A\\g(name: $x, z: \"$z\"); }"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f', 'x', 'y', 'A', 'g', 'name', 'x', 'z']
    """

    aliases = ("httpd-php",)
    encoding = (r"(?i)<\?php\s+declare\s*\(\s*encoding\s*=\s*[\"']([^\"']+)",)
    extensions = ("php", "phtml", "php5", "php7")
    interpreters = ("php",)
    grammar = GRAMMAR
    outline = OUTLINE

    def names(self, text: str) -> list[Span]:
        # most code has no tag, and the pattern takes time
        is_file = PHP_TAG.search(text) and FILE_START.match(text)
        grammar = FILE_GRAMMAR if is_file else GRAMMAR
        return [
            (start, end)
            for start, end in grammar.leaves(text, types=self.types)
            if text[start:end] not in KEYWORDS or _is_member(text, start, end)
        ]


def _is_member(text: str, start: int, end: int) -> bool:
    """Return whether a reserved word is where the name of a variable or a member may be."""
    word, before = text[start:end].lower(), text[max(0, start - 10) : start]
    if before.endswith("$"):
        return word != "this"
    if before.endswith("::"):
        return word != "class"
    if before.endswith("case "):
        return bool(AFTER_ENUM_CASE.match(text, end))
    return before.endswith(("->", "function ", "const "))
