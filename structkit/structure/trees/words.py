"""Words of English text as in the Penn Treebank, and the check of words against a text.

The rules are copied from NLTK 3.10's `NLTKWordTokenizer` (https://www.nltk.org, Apache-2.0), in its
order, with the same words. `import nltk` takes longer than the rest of a parser's start, and NLTK
gives up on a text when a busy machine is slow to split it.

Tests: tests/structure/trees/test_trees.py.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from structkit.errors import UserError
from structkit.structure.sentences import sentences
from structkit.structure.trees.brackets import unescaped

# a double quote is two single ones: in a row of three, it is unclear which belong together
PLAIN_QUOTES = str.maketrans({'"': "''", "“": "''", "”": "''", "’": "'", "‘": "'", "`": "'"})
# each rule in its turn
_RULES = [
    (re.compile(rule), to)
    for rule, to in (
        # quotes that begin
        (r"([«“‘„]|[`]+)", r" \1 "),
        (r"^\"", r"``"),
        (r"(``)", r" \1 "),
        (r"([ \(\[{<])(\"|\'{2})", r"\1 `` "),
        (r"(?i)(?<!\w)(\')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
        # punctuation; possessive: a run of spaces is not split again between the two groups
        (r"([^\.])(\.)([\]\)}>\"'»”’ ]*+)\s*$", r"\1 \2 \3 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"[\u2012-\u2015]", r" \g<0> "),
        (r"([^\.])(\.)([\]\)}>\"']*)\s*$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[*]", r" \g<0> "),
        (r"[\]\[\(\)\{\}\<\>]", r" \g<0> "),
        (r"--", r" -- "),
        # quotes that end
        (r"\A|\Z", " "),
        (r"([»”’])", r" \1 "),
        (r"''", r" '' "),
        (r'"', r" '' "),
        (r"\s+", r" "),
        (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        # contractions
        (r"(?i)\b(can(?=not\b)|gim(?=me\b)|gon(?=na\b)|got(?=ta\b)|lem(?=me\b))(\w+)", r" \1 \2 "),
        (r"(?i)\b(d(?='ye\b)|more(?='n\b))('\w+)", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
]


def tokenize(text: str) -> list[str]:
    """Return the words of a text, its punctuation, and quotes as `` and ''.

    >>> tokenize('They cannot say "no".')
    ['They', 'can', 'not', 'say', '``', 'no', "''", '.']
    """
    for rule, to in _RULES:
        text = rule.sub(to, text)
    return text.split()


def words_of(text: str, *, tokenized: bool = False) -> list[str]:
    """Return the words of a text, punctuation included.

    A text that is `tokenized` has white space between all its words. The Treebank's escapes of
    brackets are decoded; quotes are the Treebank's, `` and ''.

    >>> words_of("He left, e.g. home. It isn't so.")
    ['He', 'left', ',', 'e.g.', 'home', '.', 'It', 'is', "n't", 'so', '.']
    """
    if tokenized:
        words = text.split()
    else:
        # the Treebank's rules split off a period only at the end of a sentence
        starts = [start for start, _ in sentences(text)][1:]
        places = pairwise([0, *starts, len(text)])
        words = [word for start, end in places for word in tokenize(text[start:end])]
    return [unescaped(word) for word in words] if "-" in text else words


def same(words: Sequence[str], text: str) -> bool:
    r"""Return whether words match a text letter by letter; white space and quotes may differ.

    >>> same(["``", "f(x)", "''", "'"], '"f (x)"\''), same(["a"], "a b")
    (True, False)
    """
    return _letters("".join(words)) == _letters(text)


def check_same(words: Sequence[str], text: str) -> None:
    """Raise if the words of a tree differ from a text's."""
    if not same(words, text):
        raise UserError(
            "the words of the tree are not those of the text",
            "parse the text again, or drop the field with it",
        )


def _letters(text: str) -> str:
    text = unescaped("".join(text.split())).replace("\\/", "/").replace("\\*", "*")
    return text.translate(PLAIN_QUOTES)
