"""Promotes definitions of symbols in the query: `Foo.bar`, `foo_bar`, `fooBar`."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from structkit import plugin
from structkit.ranking.reranking import Candidate, Query
from structkit.searching.words import SYMBOL_SEPARATOR, file_and_folders, plain_name, symbols

SPELLED = 0.5  # the value of a name written in another style
ELSEWHERE = 2 / 3  # the value of a definition in a file, or in a class, of another name
AMONG = 0.25  # the value of a definition if the query has more words than the symbol
# of Rust, JavaScript and Python
REEXPORT = re.compile(
    r"""
    ^ [ \t]* (?: pub [ ] use [ ] [^;]* ;
      | export \s* (?: type \s* )? \{ [^}]* \}
      | from \s+ \. [\w.]* \s+ import \s+ (?: \( [^)]* \) | [^\n]* ) )
    """,
    re.MULTILINE | re.VERBOSE,
)


class Ranker(plugin.Ranker):
    """Definitions: a hit that defines a symbol of the query, or whose file is named after it.

    If no hit defines a symbol that is the whole query, those count that pass it on to others.
    """

    weight = 2.0

    def scores(self, query: Query, hits: Sequence[Candidate]) -> list[float]:
        """Return 0 … 1 for each hit; at most 0.25 if the query has more words than the symbol."""
        asked, alone = symbols(query.text), len(query.text.split()) == 1
        if not asked:  # the usual case
            return [0.0] * len(hits)
        best = [
            max(
                (
                    defined(symbol, name, hit.path, alone=alone)
                    for name in hit.names
                    for symbol in asked
                ),
                default=0.0,
            )
            for hit in hits
        ]
        if alone and max(best, default=0.0) < SPELLED * ELSEWHERE:
            name = re.compile(rf"\b{re.escape(asked[0][-1])}\b")
            passed = [SPELLED * ELSEWHERE * reexports(hit, name) for hit in hits]
            best = [*map(max, best, passed)]
        return best if alone else [AMONG * each for each in best]


def reexports(hit: Candidate, name: re.Pattern[str]) -> bool:
    """Return whether a hit passes on a name that another file, or another package, defines."""
    path, code = PurePosixPath(hit.path), hit.record.get("code")
    if not isinstance(code, str) or (path.suffix == ".py" and path.stem != "__init__"):
        return False
    return any(name.search(statement) for statement in REEXPORT.findall(code))


def defined(symbol: Sequence[str], name: str, path: str, *, alone: bool = False) -> float:
    """Return how well a name in a file matches a symbol and its qualifiers.

    >>> defined(["Pool"], "net.Pool", "net/pool.py"), defined(["pool"], "Pool", "pool.py")
    (1.0, 0.5)

    A symbol that stands `alone` is a type or a function before a member of another one.

    >>> [round(defined(["Pool"], name, "pool.go", alone=True), 2) for name in ("Pool", "App.Pool")]
    [1.0, 0.67]
    """
    *outer, own = SYMBOL_SEPARATOR.split(name.partition("<")[0])
    if plain_name(own) != plain_name(symbol[-1]):
        return 0.0
    value = 1.0 if own == symbol[-1] else SPELLED
    others = len(symbol) > 1 and plain_name(symbol[-2]) not in map(plain_name, outer)
    if others or (alone and len(symbol) == 1 and outer):
        value *= ELSEWHERE
    file = "".join(file_and_folders(path)[0])
    if file.rstrip("s") != plain_name(own).rstrip("s"):
        value *= ELSEWHERE
    return value
