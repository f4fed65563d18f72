"""Bash: names of variables, functions and commands; positional parameters have none.

Quotes around `$x` keep it one word: the name is one there, too.
"""

import re
from collections.abc import Iterator, Sequence

import tree_sitter

from structkit.structure import Span
from structkit.structure.code import (
    BRACES,
    CodeLanguage,
    Definition,
    DocComments,
    Outline,
    ParsedText,
    Prepared,
    grammar_of,
    overwrite,
    spans_outside,
)

OPAQUE = (rb"(?<![^\s;])#[^\n]*", rb"\$?'(?:\\.|[^'\\])*+'?", rb'"(?:\\.|[^"\\])*+"?')
COMMAND = rb"(?:^|[;&|({]|(?<!\w)(?:do|then|else|elif|if|while|until)(?=\s))[ \t]*+"
COMPOUND = rb"(?:while|until|for|if|case|select)\b"
# words before a command in braces or the like, for whose name the grammar takes them
COMMAND_PREFIX = re.compile(
    rb"%b((?:(?:time(?:[ \t]++-p)?+|!|coproc(?:[ \t]++[A-Za-z_]\w*+)?+)[ \t]++)++)"
    rb"(?=\{\s|\(|\[\[|%b)" % (COMMAND, COMPOUND),
    re.MULTILINE,
)
# a function whose body is no group: to the grammar, the end of a pipeline
BARE_BODY = re.compile(
    rb"^[ \t]*+(?P<word>function[ \t]++)?+(?P<name>[^\s()$'\"#;&|]++)"
    rb"[ \t]*+(?P<parentheses>\([ \t]*+\))\s*+(?=%b)" % COMPOUND,
    re.MULTILINE,
)
# a command for its output, without a process (Bash 5.3)
SUBSTITUTION = re.compile(rb"\$(?=\{[|\s])" + BRACES)
FALLTHROUGH = re.compile(rb";;?&")  # ends a case and goes on
FUNCTIONS = ("function_definition", "pipeline")

# text that holds no names, but for strings in double quotes
NO_NAMES = re.compile(
    r"""
    (?<![^\s;])\#[^\n]*
    | \$?'(?:\\.|[^'\\])*+'?
    | (?P<kept>"(?:\\.|[^"\\])*+"?)
    | <<-?[ \t]*(?P<quote>['"]?)(?P<label>\w+)(?P=quote)[^\n]*\n.*?^[ \t]*(?P=label)$
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
# places where a name is a word to the grammar: first those that give it a value
PLACES_OF_DECLARATIONS = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\w-])(?:read|readarray|mapfile|getopts|unset|let)[ \t]([^;&|<>\n]*+)",
        r"(?<![\w-])(?:local|declare|typeset)[ \t]+-\w*n\w*[ \t]+\w+=(\w+)",
        r"(?<![\w-])printf[ \t]+-v[ \t]+\"?(\w+)",
        r"\{(\w+)\}[<>]",
    )
]
PLACES_OF_USES = [
    re.compile(pattern)
    for pattern in (
        r"(?<!\w)for[ \t]*\(\(([^\n]{0,300}?)\)\)",
        r"\w\[([^\[\]\n]*+)\]",
        r"(?<!\w)-(?:v|lt|gt|le|ge|eq|ne)[ \t]+(\w+)",
        r"(?<![\w$-])(\w++)[ \t]+-(?:lt|gt|le|ge|eq|ne)\b",
    )
]
# a name, or an option with a word that is none
NAME_OR_OPTION = re.compile(
    r"(?<!\S)-\w*[dptnNui][ \t]+\S+(?=[ \t])|(?<![\w$.:/-])([A-Za-z_]\w*+)(?![\w.:/-])"
)


def _names_in(code: str, places: Sequence[re.Pattern[str]]) -> Iterator[Span]:
    """Yield the names in what the first group of each pattern matches."""
    for pattern in places:
        for place in pattern.finditer(code):
            for name in NAME_OR_OPTION.finditer(code, *place.span(1)):
                if name[1]:
                    yield name.span(1)


def _without_opaque(match: re.Match[str]) -> str:
    return match["kept"] or re.sub(r"[^\n]", " ", match[0])


def _prepare(data: bytes) -> Prepared:
    """Return code with bodies and blocks as the grammar reads them, in their places."""
    seen = bytearray(data)
    for match in FALLTHROUGH.finditer(data):
        overwrite(seen, *match.span(), b";;")
    for match in COMMAND_PREFIX.finditer(data):
        overwrite(seen, *match.span(1))
    names: dict[int, tuple[str, str]] = {}
    for match in BARE_BODY.finditer(data):
        overwrite(seen, *match.span("parentheses"), b"|")
        if match["word"]:
            overwrite(seen, *match.span("word"))
        names[match.start("name")] = ("", match["name"].decode("utf-8", "replace"))
    for match in SUBSTITUTION.finditer(data):
        seen[match.start() : match.start() + 3] = b"$( "
        seen[match.end() - 1] = ord(")")
    return Prepared(bytes(seen), names)


def _is_function(node: tree_sitter.Node, program: ParsedText, _: Definition | None) -> bool:
    return node.type != "pipeline" or node.start_byte in program.macro_names


def _last(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the last redirection of a function: its first one is in the function's node."""
    parent = node.parent if node.type in FUNCTIONS else None
    return parent if parent and parent.type == "redirected_statement" else node


class Language(CodeLanguage):
    """Every name; types have no names of their own."""

    aliases = ("sh", "shell", "shellscript", "zsh")
    extensions = ("sh", "bash", "zsh", "ksh", ".bashrc", "PKGBUILD")
    interpreters = ("sh", "bash", "zsh", "dash", "ksh")
    grammar = grammar_of(
        "tree_sitter_bash",
        take="variable_name function_definition>word command_name>word",
        skip="raw_string ansi_c_string heredoc_body comment",
        # reserved words, and the special commands of POSIX
        never="""
            _ break case continue coproc do done elif else esac eval exec exit false fi for
            function if in let local return select set shift source then time times trap true
            until while
            """,
        keywords=(r"\$\{?[#!]?\d+", r"(?<![\w.+})-])(?:[^\w\s\"'$]+(?=\s)|[.~]*/[\w./-]+)"),
        opaque=OPAQUE,
    )
    outline = Outline(
        grammar,
        functions=FUNCTIONS,
        comments=DocComments(begin="#(?!!)", skip=r"#+\s*shellcheck\b"),
        names={"pipeline": lambda node: node.byte_range},
        split_name=lambda name: ("", name),  # whatever signs it has
        is_function=_is_function,
        last=_last,
        prepare=_prepare,
    )

    def names(self, text: str) -> list[Span]:
        """Return every name, also where a command or an expression takes it for a word."""
        spans = super().names(text)
        code = NO_NAMES.sub(_without_opaque, text)
        declared = [*_names_in(code, PLACES_OF_DECLARATIONS)]
        known = {text[start:end] for start, end in (*spans, *declared)}
        used = [span for span in _names_in(code, PLACES_OF_USES) if text[slice(*span)] in known]
        more = [span for span in (*declared, *used) if text[slice(*span)] not in self.grammar.never]
        return sorted([*spans, *spans_outside(sorted({*more}), spans)])
