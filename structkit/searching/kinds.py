"""Kinds of files, told apart by their paths, and those to which a question leans by its words.

Prose answers "which version added it", code "where is it decided". The weights are those of a
logistic regression on 509 questions about 14 whole checkouts, rounded. It knows the right one of
prose and code for 89 in 100 of these: for 55 of 100 that prose answers, for 98 of the others.

Tests: tests/searching/test_path_kinds.py, tests/asking/test_leaning.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from structkit.searching import Kind
from structkit.searching.words import name_parts


class PathKind:
    """Kind of files, recognized by names of folders, by words of their names, or by endings."""

    def __init__(self, folders: str, words: str = "", endings: tuple[str, ...] = ()) -> None:
        """Take names in lower case, separated by spaces; `words` begin or end a file's name."""
        self.folders, self.words = frozenset(folders.split()), frozenset(words.split())
        self.endings = endings

    def is_asked(self, asked: Collection[str]) -> bool:
        """Return whether a query with these words asks for such files."""
        return not (self.folders | self.words).isdisjoint(asked)

    def holds(self, path: str) -> bool:
        """Return whether a path belongs to such a file."""
        folders, words = folders_and_words(path)
        return (
            not self.folders.isdisjoint(folders)
            or not self.words.isdisjoint(words)
            or path.endswith(self.endings)
        )


@lru_cache(maxsize=1 << 16)
def folders_and_words(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the folders of a path, in lower case, and the first and last word of its name.

    >>> [sorted(each) for each in folders_and_words("src/Tests/http_client_test.py")]
    [['src', 'tests'], ['http', 'test']]
    """
    place = PurePosixPath(path)
    name = name_parts(place.stem)
    folders = frozenset(part.lower() for part in place.parts[:-1])
    return folders, frozenset((*name[:1], *name[-1:]))


PATH_KINDS = {
    "test": PathKind(  # tests, specifications, mocks and benchmarks
        "test tests __tests__ testing testdata spec specs mock mocks __mocks__ fixtures bench "
        "benches benchmark benchmarks",
        "test tests spec specs mock mocks bench benchmark",
    ),
    "example": PathKind(  # examples of use
        "example examples _examples sample samples demo demos tutorial tutorials doc docs",
        "example examples sample demo",
    ),
    "copy": PathKind(  # copies of other projects, or of all files in one, and build products
        "vendor vendored _vendor third_party thirdparty 3rdparty external node_modules dist "
        "single_include amalgamated",
    ),
    "generated": PathKind(  # generated files, and mere declarations
        "generated gen autogen __generated__ __snapshots__",
        "generated prebuilt",
        (".d.ts", ".pyi", ".pb.go", "_pb2.py", ".g.cs", ".designer.cs", ".min.js", ".min.css"),
    ),
    "compatibility": PathKind(  # code kept for compatibility
        "compat _compat legacy deprecated", "compat legacy deprecated"
    ),
}
KINDS = (*PATH_KINDS, "code", "header", "settings", "manual", "notes", "translation", "legal")
MARKUP = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".rdoc", ".textile", ".org", ".pod")
PAGES = (".txt", ".html", ".htm")  # prose, but in a test or an example
SETTINGS = (
    *(".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".xml", ".properties", ".gradle"),
    *(".cmake", ".mk", ".am", ".ac", ".in", ".m4", ".css", ".scss", ".csv", ".conf", ".env"),
    *("cmakelists.txt", "requirements.txt", "constraints.txt"),
)
# what programs keep for themselves: locked versions, projects of editors, pictures
KEPT = re.compile(
    r"\.(lock|sum|snap|svg|map|pbxproj|csproj|vcxproj|sln|prebuilt)$|(^|/)(package-lock\.json|pnpm-lock\.yaml)$"
)
NOTES = re.compile(
    r"(^|[-_. /])(change-?logs?|changes|history|news|releases?|release-?notes?|what-?s-?new"
    r"|upgrad(e|ing)|migrat(e|ion|ing))([-_. ][^/]*)?$|(^|/)(releases|release-?notes|what-?s-?new)/"
)
MAN = re.compile(r"\.[1-8]$")  # a page of `man`
LEGAL = re.compile(r"(^|/)(licenses/|(licen[cs]e|copying|notice|authors|patents)[^/]*$)")
NAMED = re.compile(r"(readme|contributing|security|install|todo|code_of_conduct|faq)\b")
TRANSLATION = re.compile(
    r"[-._/](zh|ja|ko|fr|de|es|pt|ru|it|tr|vi|uk|pl|fa|ar)([-_](\w{2,4}))?(?=[./])"
)


@lru_cache(maxsize=1 << 16)
def kind_of(path: str) -> str:
    """Return the kind of a file by its path, one of `KINDS`; `notes` are those of releases.

    >>> [kind_of(path) for path in ("src/pool.c", "docs/pool.md", "HISTORY.rst", "LICENSE")]
    ['code', 'manual', 'notes', 'legal']
    """
    place = path.lower()
    name = place.rpartition("/")[2]
    if KEPT.search(place):
        return "generated"
    bare = "." not in name and bool(NOTES.search(place) or LEGAL.search(place) or NAMED.match(name))
    marked = name.endswith(MARKUP) or MAN.search(name)
    other = name.endswith(SETTINGS) or any(PATH_KINDS[k].holds(place) for k in ("test", "copy"))
    if bare or marked or (name.endswith(PAGES) and not other):
        if NOTES.search(place):
            return "notes"
        if LEGAL.search(place):
            return "legal"
        return "translation" if TRANSLATION.search(f"/{place}") else "manual"
    for kind, paths in PATH_KINDS.items():
        if paths.holds(path):
            return kind
    if name.endswith(SETTINGS) or "." not in name:
        return "settings"
    return "header" if name.endswith(".h") else "code"


MEANT: dict[Kind, tuple[str, ...]] = {
    "code": ("code", "header", "settings", "compatibility"),
    "docs": ("manual", "notes", "translation", "legal"),
    "tests": ("test",),
}
NOTHING = -1.5  # the logit of prose, to which each group with a word of the question adds
CUES = """
2.5 version versions release releases released changelog cve hotfix
2.0 author authors behaviour committee community contribute contributing contributor contributors \
    licence license maintainer maintainers policy pull report security vulnerability
2.0 benchmark benchmarks description descriptions docs documentation example examples faq guide \
    list listing manual overview sample samples table tutorial
1.5 build compile dependencies dependency environment install installation installing minimum npm \
    oldest pip platform platforms require required requirements run supported
1.1 can cannot may must no not should
1.0 why
0.8 when
0.7 breaking deprecated migrate migrating migration replace replaced replaces reverted upgrade \
    upgrading
0.7 which
0.7 i my our we
0.5 what
-0.4 where
-0.4 are decided decides does is
-0.4 class code constant enum function helper implementation internals loop method regex struct
-0.4 test tests
-1.2 how
"""
GROUPS = [
    (float(logit), frozenset(words)) for logit, *words in map(str.split, CUES.strip().split("\n"))
]
WORD = re.compile(r"(?<![\w./:$#@])[a-z']+(?![\w/(]|[.:]+\w)")  # of no symbol, no path, no "I/O"
ASKING, FIRST = frozenset("may since what when which why".split()), 1.8  # as its first word
NUMBER, NUMBERED = re.compile(r"\d+\.\d"), 1.8
# "how do I" asks a manual, "how does it" asks code; few questions of the regression begin so
DOING = re.compile(
    r"\bhow (to|(can|could|do|does|might|must|shall|should|would) (i|my|one|our|we|you))\b"
    r"|\b((a|any|best|right) way|possible) to\b"
)
# "function that decides" asks code
MADE = re.compile(r"(the )?(class|code|constant|function|loop|method)e?s? (that|which|where)\b")
DONE = 2.9
ALONE = -1.5  # a word, which is a symbol
NEWS = re.compile(
    r"\b(versions?|releases?d?|since|changed?|change-?logs?|upgrad\w+|migrat\w+|deprecated|breaking"
    r"|cve\S*|\d+\.\d+\S*|no longer|going from|replace[sd]?|added|fixing|used to|before)\b",
    re.IGNORECASE,
)
TESTS = frozenset(("test", "tests"))
# words with which a question that names tests asks for something else
ASIDE = re.compile(
    r"\b(under|run) (the )?tests?\b"
    r"|\btests? (runner|client|suite|helper|server|framework|utilit(y|ie))s?\b"
)
EXAMPLES = frozenset("demo demos example examples sample samples".split())
LEAST = 0.4  # the weight of prose, or of code, where the other answers
# of the weights of a question's words (idf), the share that is the best BM25 of a passage: with
# more of it words tell enough, with less they fail. 95 of 100 paraphrases have less than 0.28, and
# 90 of 100 other questions more than 0.27
ENOUGH, TOO_FEW = 0.35, 0.15


def kind_weights(question: str, kind: Kind | None = None) -> Mapping[str, float]:
    """Return the weight, 0 … 1, of each kind of file for a question; `kind` leaves only its own.

    >>> [kind_weights(q)["manual"] for q in ("which version is required", "parse a header")]
    [1.0, 0.4]
    """
    if kind == "all":
        return dict.fromkeys(KINDS, 1.0)
    lower = question.lower()
    words = WORD.findall(lower)
    prose = probability_of_prose(lower, words)
    manual, code = (max(LEAST, min(1.0, 2 * each)) for each in (prose, 1 - prose))
    tests, shown = (not kinds.isdisjoint(words) for kinds in (TESTS, EXAMPLES))
    tests = tests and not (ASIDE.search(lower) or DOING.search(lower))
    if tests:
        manual, code = manual / 2, code / 2
    weights = {
        "code": code,
        "header": 0.8 * code,  # it declares what other files define
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
    """Return how probable it is that prose answers a question in lower case with these words."""
    logit = NOTHING + sum(each for each, cues in GROUPS if not cues.isdisjoint(words))
    logit += FIRST * (not ASKING.isdisjoint(words[:1]))
    logit += NUMBERED * bool(NUMBER.search(question))
    logit += DONE * bool(DOING.search(question))
    logit -= DONE * bool(MADE.match(question))
    logit += ALONE * (len(question.split()) == 1)
    return 1 / (1 + math.exp(-logit))
