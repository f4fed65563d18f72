"""The words of English text as in the Penn Treebank, by NLTK's rules.

The rules are those of NLTK 3.10's `NLTKWordTokenizer` (https://www.nltk.org, Apache-2.0), in its
order, with the same words. They are copied because `import nltk` takes longer than all the rest of
a parser's start, and because NLTK gives up on a text when a busy machine is slow to split it.
"""

from __future__ import annotations

import re

_STARTING_QUOTES = (
    (r"([«“‘„]|[`]+)", r" \1 "),
    (r"^\"", r"``"),
    (r"(``)", r" \1 "),
    (r"([ \(\[{<])(\"|\'{2})", r"\1 `` "),
    (r"(?i)(?<!\w)(\')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
)
_PUNCTUATION = (
    # possessive: a run of spaces is not split again between the two groups
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
)
_ENDING_QUOTES = (
    (r"([»”’])", r" \1 "),
    (r"''", r" '' "),
    (r'"', r" '' "),
    (r"\s+", r" "),
    (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
    (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
)
_CONTRACTIONS = (
    *(rf"\b({word})({rest})\b" for word, rest in (("can", "not"), ("d", "'ye"), ("gim", "me"))),
    *(rf"\b({word})({rest})\b" for word, rest in (("gon", "na"), ("got", "ta"), ("lem", "me"))),
    *(r"\b(more)('n)\b", r"\b(wan)(na)(?=\s)", r" ('t)(is)\b", r" ('t)(was)\b"),
)
_BEFORE = [(re.compile(rule), to) for rule, to in (*_STARTING_QUOTES, *_PUNCTUATION)]
_AFTER = [(re.compile(rule), to) for rule, to in _ENDING_QUOTES]
_AFTER += [(re.compile(rule, re.IGNORECASE), r" \1 \2 ") for rule in _CONTRACTIONS]


def tokenize(text: str) -> list[str]:
    """The words of a text, its punctuation, and quotes as `` and ''.

    >>> tokenize('They cannot say "no".')
    ['They', 'can', 'not', 'say', '``', 'no', "''", '.']
    """
    for rule, to in _BEFORE:
        text = rule.sub(to, text)
    text = f" {text} "
    for rule, to in _AFTER:
        text = rule.sub(to, text)
    return text.split()
