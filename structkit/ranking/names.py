"""Names in paths, programs and queries: their words, and what counts as the same word."""

from __future__ import annotations

from functools import lru_cache
from os.path import commonprefix

from structkit.search.words import PART, STOPWORDS, WORD

# beyond Lucene's, what questions consist of and names do not
QUESTION = frozenset("how does do what where which when why can from using via".split())
# after the stem that two words share: both have one of these, or the shorter has nothing
ENDINGS = frozenset(
    "e y s es ed er ers or ors ing ings ion ions ation ations ies ied able ables r rs d".split()
)
SHORTEST = 3  # characters of a stem


@lru_cache(maxsize=1 << 16)
def parts(name: str) -> tuple[str, ...]:
    """The lower-case words that a name is made of, each once.

    >>> parts("src/HTTPClient_pool.py")
    ('src', 'http', 'client', 'pool', 'py')
    """
    lowered = (part.lower() for word in WORD.findall(name) for part in PART.split(word) if part)
    return tuple(dict.fromkeys(lowered))


def asked(query: str) -> tuple[str, ...]:
    """The words of a query that may stand in names.

    >>> asked("how does the HTTPClient retry")
    ('http', 'client', 'retry')
    """
    return tuple(word for word in parts(query) if word not in STOPWORDS and word not in QUESTION)


@lru_cache(maxsize=1 << 16)
def alike(one: str, other: str) -> bool:
    """Whether two words have one stem, or one is the other's beginning.

    >>> alike("routing", "router"), alike("config", "configuration"), alike("context", "content")
    (True, True, False)
    """
    if one == other:
        return True
    shared = len(commonprefix((one, other)))
    if shared < SHORTEST:
        return False
    rests = one[shared:], other[shared:]
    return "" in rests or ENDINGS.issuperset(rests)
