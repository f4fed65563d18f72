"""Kinds of files to which a question leans, by its words.

Prose answers "which version added it", code "where is it decided". The weights are those of a
logistic regression on 509 questions about 14 whole checkouts, rounded; it knows the right one of
prose and code for 82 in 100, also of a checkout that the fit left out.

Tests: tests/asking/test_leaning.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal

from structkit.searching.kinds import KINDS

Kind = Literal["code", "docs", "tests", "all"]
MEANT: dict[Kind, tuple[str, ...]] = {
    "code": ("code", "settings", "compatibility"),
    "docs": ("manual", "notes", "translation", "legal"),
    "tests": ("test",),
}
# the logit of prose: alone, and with a word of each group
NOTHING = -1.5
CUES = [
    (logit, frozenset(words.split()))
    for logit, words in (
        (2.5, "version versions release releases released changelog cve hotfix"),
        (
            2.0,
            "author authors behaviour committee community contribute contributing contributor "
            "contributors licence license maintainer maintainers policy pull report security "
            "vulnerability",
        ),
        (
            2.0,
            "benchmark benchmarks description descriptions docs documentation example examples "
            "faq guide list listing manual overview sample samples table tutorial",
        ),
        (
            1.5,
            "build command commands compile dependencies dependency environment install installing "
            "installation minimum npm oldest pip platform platforms require required requirements "
            "run support supported",
        ),
        (1.1, "can cannot may must no not should"),
        (1.0, "why"),
        (0.8, "when"),
        (
            0.7,
            "breaking deprecated migrate migrating migration replace replaced replaces reverted "
            "upgrade upgrading",
        ),
        (0.7, "which"),
        (0.7, "i my our we"),
        (0.5, "what"),
        (-0.4, "where"),
        (-0.4, "are decided decides does is"),
        (
            -0.4,
            "class code constant enum function helper implementation internals loop method regex "
            "struct",
        ),
        (-0.4, "test tests"),
        (-1.2, "how"),
    )
]
ASKING, FIRST = frozenset("may since what when which why".split()), 1.8  # as its first word
NUMBER, NUMBERED = re.compile(r"\d+\.\d"), 1.8
ALONE = -1.5  # a word, which is a symbol
NEWS = re.compile(
    r"\b(versions?|releases?d?|since|changed?|change-?logs?|upgrad\w+|migrat\w+|deprecated|breaking"
    r"|cve\S*|\d+\.\d+\S*|no longer|going from|replace[sd]?|added|fixing|used to|before)\b",
    re.IGNORECASE,
)
TESTS = frozenset(("test", "tests"))
EXAMPLES = frozenset("demo demos example examples sample samples".split())
LEAST = 0.4  # the weight of prose, or of code, where the other answers
# shares of a question's words by weight: with more words tell enough, with fewer they fail
ENOUGH, TOO_FEW = 0.45, 0.2


def kind_weights(question: str, kind: Kind | None = None) -> Mapping[str, float]:
    """Return the weight, 0 … 1, of each kind of file for a question; `kind` leaves only its own.

    >>> [kind_weights(q)["manual"] for q in ("which version is required", "parse a header")]
    [1.0, 0.4]
    """
    if kind == "all":
        return dict.fromkeys(KINDS, 1.0)
    words = re.findall("[a-z']+", question.lower())
    prose = probability_of_prose(question, words)
    manual, code = (max(LEAST, min(1.0, 2 * each)) for each in (prose, 1 - prose))
    tests, shown = (not kinds.isdisjoint(words) for kinds in (TESTS, EXAMPLES))
    if tests:
        manual, code = manual / 2, code / 2
    weights = {
        "code": code,
        "settings": 0.7 * code,
        "compatibility": 0.5 * code,
        "generated": 0.4 * code,
        "copy": 0.4 * code,
        "test": 1.0 if tests else 0.4 * code,
        "example": 1.0 if shown else 0.5 * code,
        "manual": manual,
        "notes": manual if NEWS.search(question) else manual / 2,
        "translation": manual / 2,
        "legal": manual / 2,
    }
    if kind is None:
        return weights
    return {name: weight * (name in MEANT[kind]) for name, weight in weights.items()}


def probability_of_prose(question: str, words: list[str]) -> float:
    """Return how probable it is that prose answers a question with these words."""
    logit = NOTHING + sum(each for each, cues in CUES if not cues.isdisjoint(words))
    logit += FIRST * (not ASKING.isdisjoint(words[:1]))
    logit += NUMBERED * bool(NUMBER.search(question))
    logit += ALONE * (len(question.split()) == 1)
    return 1 / (1 + math.exp(-logit))


def lack(covered: float) -> float:
    """Return how far words fail, 0 … 1, if the best passages have this share of a question's.

    >>> lack(0.5), lack(0.1)
    (0.0, 1.0)
    """
    return min(1.0, max(0.0, (ENOUGH - covered) / (ENOUGH - TOO_FEW)))
