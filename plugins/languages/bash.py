"""Bash: names of variables, functions and commands; positional parameters have none.

Quotes around `$x` keep it one word: the name is one there, too.
"""

from structkit.structure.code.languages import CodeLanguage, grammar_of
from structkit.structure.code.outline import DocComments, Outline


class Language(CodeLanguage):
    """Every name; types have no names of their own."""

    aliases = ("sh", "shell", "shellscript", "zsh")
    extensions = ("sh", "bash", "zsh", "ksh", ".bashrc", "PKGBUILD")
    interpreters = ("sh", "bash", "zsh", "dash", "ksh")
    grammar = grammar_of(
        "tree_sitter_bash",
        take=("variable_name", "function_definition>word", "command_name>word"),
        skip=("raw_string", "ansi_c_string", "heredoc_body", "comment"),
        # reserved words, and the special commands of POSIX
        never=(
            "_ break case continue coproc do done elif else esac eval exec exit false fi for "
            "function if in let local return select set shift source then time times trap true "
            "until while".split()
        ),
        keywords=(r"\$\{?[#!]?\d+", r"(?<![\w.+})-])(?:[^\w\s\"'$]+(?=\s)|[.~]*/[\w./-]+)"),
        opaque=(rb"(?<![^\s;])#[^\n]*", rb"\$?'(?:\\.|[^'\\])*+'?", rb'"(?:\\.|[^"\\])*+"?'),
    )
    outline = Outline(
        grammar,
        functions=("function_definition",),
        comments=DocComments(begin="#(?!!)", skip=r"#+\s*shellcheck\b"),
        split_name=lambda name: ("", name),  # whatever signs it has
    )
