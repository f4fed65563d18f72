"""Whether words are those of a text, without cutting the text into words."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.errors import UserError
from structkit.structure.trees.brackets import unescaped

# a double quote is two single ones: in a row of three, it is unclear which belong together
QUOTES = {'"': "''", "“": "''", "”": "''", "’": "'", "‘": "'", "`": "'"}


def same(words: Sequence[str], text: str) -> bool:
    r"""Whether words are those of a text, letter by letter: white space and quotes may differ.

    >>> same(["``", "f(x)", "''", "'"], '"f (x)"\''), same(["a"], "a b")
    (True, False)
    """
    return _letters("".join(words)) == _letters(text)


def check_same(words: Sequence[str], text: str) -> None:
    """Raise if the words of a tree are not those of a text."""
    if not same(words, text):
        raise UserError(
            "the words of the tree are not those of the text",
            "parse the text again, or drop the field with it",
        )


def _letters(text: str) -> str:
    text = unescaped("".join(text.split())).replace("\\/", "/").replace("\\*", "*")
    for quote, plain in QUOTES.items():
        text = text.replace(quote, plain)
    return text
