"""Ruby: names of variables, methods, constants, classes, modules and keyword arguments.

The sigils of `@x`, `@@x` and `$x` belong to the name, as do the marks of `x?` and `x!`. The key in
`x: 1` is a name (of a keyword argument, as in Python; `x:` alone is a variable too); the symbol
`:x` is a literal. A class is a plain name, so `--types` changes nothing.
"""

import re

import tree_sitter_ruby

from structkit.structure import Span
from structkit.structure.code import (
    DOUBLE_QUOTED,
    SINGLE_QUOTED,
    CodeLanguage,
    DocComments,
    Outline,
    grammar_of,
    keywords_of,
    nested,
    spans_outside,
)

KEYWORDS = keywords_of(tree_sitter_ruby.language(), without="i r ri").union(
    "__ENCODING__ __FILE__ __LINE__ defined? false nil self super true".split()
)
CODE_IN_STRING = nested(rb"\{", rb"\}", rb"(?:[^{}\"']|%b|%b)*+" % (DOUBLE_QUOTED, SINGLE_QUOTED))
# after a sign of an expression; elsewhere % is the remainder
PERCENT_LITERAL = rb"(?:%[qQwWiIrxs]|(?:(?<=[=(,\[{])|(?<=[=(,\[{][ ]))%(?=[(\[{<|]))"
BRACKETED = b"|".join(
    nested(a, b, rb"(?:\\.|[^\\%b%b])*+" % (a, b))
    for a, b in ((rb"\(", rb"\)"), (rb"\[", rb"\]"), (rb"\{", rb"\}"), (rb"<", rb">"))
)
OPAQUE = (
    rb"(?P<code>\$[\"'`/]|(?<![\w)\]}])\?[\"'`#/%]"  # variables; one character
    rb"|(?<![\w.])(?:return|if|elsif|unless|while|until|when|in|and|or|not)\b[ \t]*(?=/)"
    rb"|[\w)\]]/|[\w)\]][ \t]+/(?=[\s=]))",  # a division
    rb"#[^\n]*",
    rb"^=begin\b.*?(?:^=end\b|\Z)",
    rb"^__END__$.*",
    rb"<<(?:[~-][\"'`]?|[\"'`]?(?=[A-Z]))(?P<label>[A-Za-z_]\w*)[\"'`]?"
    rb"[^\n]*\n.*?(?:^[ \t]*(?P=label)(?!\w)|\Z)",
    rb'"(?:\\.|#%b|[^"\\])*+"?' % CODE_IN_STRING,
    rb"`(?:\\.|#%b|[^`\\])*+`?" % CODE_IN_STRING,
    rb"'(?:\\.|[^'\\])*+'?",
    PERCENT_LITERAL
    + rb"(?:%b|[(\[{<].*|(?P<sign>[^\w\s])(?:\\.|(?!(?P=sign)).)*+(?P=sign)?)" % BRACKETED,
    rb"/(?:\\[^\n]|#\{[^}\n]*\}|[^/\\\n])+(?:/[a-z]*|$)",
)
# magic comments, of RDoc and YARD to themselves, and linters'
MAGIC_COMMENT = (
    r"#[ \t]*(?:-\*-|(?:frozen_string_literal|(?:file)?encoding|coding|warn_indent|typed"
    r"|shareable_constant_value|rubocop|reek|standard|steep|sord|brakeman)[ \t]*:|:\w+:|@!)"
)
# of RDoc: private parts, and how to call a method
HIDDEN_COMMENT = (
    r"(?ms)^[ \t]*#--[ \t]*$.*?(?:^[ \t]*#\+\+[ \t]*$|\Z)"
    r"|^[ \t]*#[ \t]*:call-seq:[ \t]*$.*?(?:^[ \t]*#[ \t]*$|\Z)"
)


# the parameter of a block without others (Ruby 3.4), unless the text has names like it
IT_PARAMETER = re.compile(r"it(?<![\w.:@$|]it)\b(?![?!:\w]|[ \t]*(?:[\"'({]|=(?![=~])|do\b|:\w))")
OWN_IT = re.compile(r"\|(?:[^|\n]*\W)?it\b[^|\n]*\|(?!\|)|\bit\s*=(?![=~])|def it\b|->\s*\(?it\b")


class Language(CodeLanguage):
    """Every name; types have no names of their own.

    >>> text = "def f?(x, y: :z) = @a.b(y: 1, **$c) + K"
    >>> [text[start:end] for start, end in Language().names(text)]
    ['f?', 'x', 'y', '@a', 'b', 'y', '$c', 'K']
    """

    aliases = ("rb",)
    encoding = (r"(?i)(?:#![^\n]*\n)?[ \t]*#[^\n]*?coding[:=][ \t]*([-\w.]+)",)
    extensions = ("rb", "rake", "gemspec", "ru", "Rakefile", "Gemfile")
    interpreters = ("ruby", "jruby", "rake")
    grammar = grammar_of(
        "tree_sitter_ruby",
        take="identifier constant instance_variable class_variable global_variable hash_key_symbol",
        skip="""
            string string_array symbol_array simple_symbol delimited_symbol regex subshell
            heredoc_body comment
            """,
        keywords=(r"_[1-9](?<![\w@$]..)\b",),  # the parameters of a block without others
        opaque=OPAQUE,
        reserved=(),
    )
    outline = Outline(
        grammar,
        functions=("method", "singleton_method"),
        scopes={"class": "class", "module": "module"},
        around=("argument_list", "call"),  # `private def …`
        comments=DocComments(
            begin=r"#(?!!)|=begin",
            gap="blank",
            marks=r"#+|=(?:begin|end)\b.*",
            skip=MAGIC_COMMENT,
            hidden=HIDDEN_COMMENT,
        ),
        keywords=KEYWORDS,
        members=("method", "singleton_method"),
    )

    def names(self, text: str) -> list[Span]:
        spans = [
            (start, end)
            for start, end in super().names(text)
            if text[start:end] not in KEYWORDS or _is_member(text, start, end)
        ]
        if " it" not in text or OWN_IT.search(text):
            return spans
        return spans_outside(spans, [match.span() for match in IT_PARAMETER.finditer(text)])


def _is_member(text: str, start: int, end: int) -> bool:
    """Return whether a reserved word, a name to the grammar, is a method or key."""
    if text.startswith(":", end) and not text.startswith("::", end):
        return True
    return text[max(0, start - 6) : start].endswith((".", "::", "def ", "alias "))
