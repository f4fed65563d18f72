"""Kinds of files by their paths, and the kinds that a question prefers by its words.

Prose answers "which version added it", code "where is it decided". The weights are those of a
logistic regression on 509 questions about 14 whole checkouts, rounded. It is right for 89 % of
them: for 55 % of those that prose answers, and for 98 % of those that code answers.

Tests: tests/asking/test_path_kinds.py, tests/asking/test_leaning.py.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import splitext

from structkit.collecting.kinds import (
    GENERATED_NAME,
    LOCK_FILES,
    NOTEBOOK,
    declared_by_languages,
    named_language,
)
from structkit.searching import PreferredKind
from structkit.searching.words import name_parts

NO_MATCH = re.compile(r"(?!)")


@dataclass(frozen=True)
class RareKind:
    """Kind of files that rarely answer, by the names of their folders, their names or endings."""

    folders: frozenset[str]
    # only as the first folder of a path: deeper in a program they may be its subject
    top_folders: frozenset[str] = frozenset()
    names: re.Pattern[str] = NO_MATCH  # of the words of a file's name, joined by underscores
    endings: tuple[str, ...] = ()
    questions: re.Pattern[str] = NO_MATCH  # that ask for the kind

    def includes(self, path: str) -> bool:
        """Return whether a path names such a file."""
        folders, name = folders_and_name(path)
        return (
            not self.folders.isdisjoint(folders)
            or not self.top_folders.isdisjoint(folders[:1])
            or self.names.search(name) is not None
            or path.endswith(self.endings)
        )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# folders of packages are named by developers: their words do not show a kind
PACKAGE_LANGUAGES = ["groovy", "clojure", *declared_by_languages("package_folders")]
PACKAGES = re.compile(rf"(?:^|/)src/(?:[^/]+/)?(?:{'|'.join(PACKAGE_LANGUAGES)})(?=/)")
DOMAIN = re.compile(r"(?:^|/)(?=(?:com|org|net|io|edu|dev)/)")  # the first folder of a package
# `androidTest` of Gradle, `Serilog.Tests`, `integration-tests`, `test-native-image`
TEST_FOLDER = re.compile(r"[a-z.]Tests?$|^tests?[-_]|[-_]tests?$")


@lru_cache(maxsize=1 << 16)
def folders_and_name(path: str) -> tuple[tuple[str, ...], str]:
    """Return the folders of a path, in lower case, and the words of its name.

    >>> folders_and_name("./src/Tests/HTTPClient_test.py")
    (('src', 'tests'), 'http_client_test')
    >>> folders_and_name("app/src/main/java/com/example/Pool.java")
    (('app', 'src', 'main', 'java'), 'pool')
    """
    folder, _, file = path.rpartition("/")
    packages = PACKAGES.search(path)
    if not packages and named_language(path) in PACKAGE_LANGUAGES:
        packages = DOMAIN.search(path)
    parent = path[: packages.end()] if packages else folder
    folders = tuple(
        "test" if TEST_FOLDER.search(name) else name.lower()
        for name in parent.split("/")
        if name not in ("", ".")
    )
    return folders, "_".join(name_parts(splitext(file)[0]))


RARE_KINDS = {
    "test": RareKind(  # tests, specifications, mocks and benchmarks
        _words(
            "test tests __tests__ testing testdata testsuite unittests __mocks__ fixtures benches "
            "e2e"
        ),
        _words("spec specs mocks bench benchmark benchmarks"),
        re.compile(r"^tests?(_|$)|_tests?$|^mocks?_|_mocks?$|^bench_|_bench(mark)?$"),
        (
            *(f"{mark}spec.{ending}" for mark in "._" for ending in "rb js jsx ts tsx lua".split()),
            "Spec.groovy",
            "Spec.hs",
            *declared_by_languages("test_endings"),
        ),
        re.compile(
            r"""
              \b tests? [ ] (?: that | which | whether | cases? | files? ) \b
            | \b (?: tests | specs | mocks | benchmarks | fixtures )
              [ ] (?: of | for | covering ) \b
            | ^ tests \b
            | \b (?: unit | integration | acceptance | regression | end-to-end | e2e | smoke )
              [ ] tests? \b
            | \b (?: the | which | our ) [ ] tests \b
            | \b (?: an? | which | what | any | no ) [ ] test [ ] (?: for | of | covers ) \b
            | \b (?: covered [ ] by | tested )
            """,
            re.VERBOSE,
        ),
    ),
    "example": RareKind(  # examples of use
        _words("examples _examples demos tutorial tutorials doc docs"),
        _words("example sample samples demo"),
        re.compile(r"^(example|demo)(_|$)|_(example|demo|sample)$"),
        questions=re.compile(
            r"""
              (?<! \b for [ ] ) \b examples? \b
            | \b (?: sample | demo ) s? [ ] (?: programs? | app\w* | projects? | code | scripts? )
            """,
            re.VERBOSE,
        ),
    ),
    "copy": RareKind(  # copies of other projects, or of all files in one, and build products
        _words(
            "vendor vendored _vendor third_party thirdparty 3rdparty external node_modules dist "
            "single_include amalgamated"
        ),
        questions=re.compile(r"\b(vendor(ed)?|third.?party|amalgamated)\b"),
    ),
    "generated": RareKind(  # generated files, and mere declarations
        _words("generated gen autogen __generated__ __snapshots__"),
        names=re.compile(r"^(generated|prebuilt)(_|$)|_(generated|prebuilt)$"),
        endings=(".d.ts", ".pyi", ".min.js", ".min.css"),
        questions=re.compile(r"\bgenerated\b"),
    ),
    "compatibility": RareKind(  # code kept for compatibility
        _words("compat _compat legacy deprecated"),
        names=re.compile(r"^(compat|legacy|deprecated)(_|$)|_(compat|legacy|deprecated)$"),
        questions=re.compile(r"\b(compat|legacy|deprecated)"),
    ),
}


@lru_cache(maxsize=1 << 16)
def rare_kinds(path: str) -> list[str]:
    """Return the kinds of a path among those that rarely answer.

    >>> rare_kinds("vendor/net/tests/retry.pb.go")
    ['test', 'copy', 'generated']
    """
    kinds = [name for name, kind in RARE_KINDS.items() if kind.includes(path)]
    if GENERATED_NAME.search(path) and "generated" not in kinds:
        kinds.append("generated")
    return kinds


KINDS = (*RARE_KINDS, "code", "header", "settings", "manual", "notes", "translation", "legal")
# marked-up prose, wherever it stands
MARKUP_LANGUAGES = _words("asciidoc markdown restructuredtext")
MARKUP_EXTENSIONS = _words(
    "adoc aml apt asciidoc creole dbk dita docbook dox livemd lyx mediawiki org pod qdoc rakudoc "
    "rd rdoc ronn scd scrbl sgml tex texi texinfo textile typ wiki xdoc"
)
PAGE_EXTENSIONS = _words("txt html htm xhtml xht")  # prose, except in a test or a copy
MAN_PAGE = re.compile(r"\.[1-8]$")
DOCBOOK = re.compile(r"(^|/)(x?docs?|documentation|docbook|manual|sgml)/.*\.xml$")
MANUAL_FOLDERS = _words("book doc docs documentation guide guides manual manuals site tutorials")
SETTINGS_LANGUAGES = _words("cmake css csv ini json make toml xml yaml")
SETTINGS_EXTENSIONS = _words("ac am env gradle in m4")
SETTINGS_NAMES = ("requirements.txt", "constraints.txt")
# what programs keep for themselves: locked versions, projects of editors, pictures
MACHINE_KEPT_ENDING = re.compile(r"\.(lock|sum|snap|svg|map|pbxproj|csproj|vcxproj|sln|prebuilt)$")
RELEASE_NOTES_PATH = re.compile(
    r"""
    (^ | [-_. /])
    (   change-?logs? | changes | history | news | releases? | release-?notes? | what-?s-?new
      | upgrad(e|ing) | migrat(e|ion|ing) )
    ([-_. ] [^/]*)? $
    | (^|/) (releases | release-?notes | what-?s-?new) /
    """,
    re.VERBOSE,
)
LEGAL_PATH = re.compile(
    r"(^|/) ( licenses/ | (licen[cs]e | copying | notice | authors | patents) [^/]* $ )", re.VERBOSE
)
LICENSE_NAME = re.compile("LICEN[CS]E|COPYING")
MANUAL_WITHOUT_EXTENSION = re.compile(
    r"(readme|contributing|security|install|todo|code_of_conduct|faq)\b"
)
TRANSLATED_PATH = re.compile(
    r"""
    [-._/] (zh|ja|ko|fr|de|es|pt|ru|it|tr|vi|uk|pl|fa|ar)
    ([-_] (\w{2,4}))? (?=[./])
    """,
    re.VERBOSE,
)
# a folder of one version, alone or with its name: `v1`, `1.x`, `version-2.0`, `docs_v3`
VERSION_FOLDER = re.compile(
    r"""
    (?: (.{0,60}?) [-_] )??  # the name
    (?: v | ver | version | rel | release | stable | maint | branch )? [-_]?
    ( \d{1,4} (?: [._-] (?: \d{1,4} | x ) ){0,3} )
    (?: [._-]? (?: alpha | beta | rc | pre | dev | snapshot ) [._-]? \d{0,4} )?
    """,
    re.VERBOSE,
)
# ranks of folders by version: 0 with numbers, 1 unreleased, 2 stable, 3 no folder of a version.
# The highest rank is the newest one
NAMED_VERSIONS = {"latest": 2, "stable": 2, "current": 2}
NAMED_VERSIONS |= dict.fromkeys(
    "next dev develop devel nightly canary unreleased main master trunk".split(), 1
)
VERSIONS_FOLDERS = _words("archive archives branch branches version versions")  # around these
UNVERSIONED_RANK = 3
NUMBER_OR_X = re.compile(r"\d+|x")
WILDCARD_NUMBER = 9999  # for `x`
TEST_WORD = re.compile(r"\btests?\b", re.IGNORECASE)
NUMBER_WORD = re.compile(r"\d{1,4}")
# files that usually hold keys or passwords: lists of gitleaks, Gitrob and others
KEY_NAME = re.compile(
    r"""
      \.(?: pem | key | p12 | pfx | pkcs12 | jks | keystore | kdbx? | ppk | ovpn | env | tfstate )$
    | ^\.env (?:\.|$) | ^(?: \. | _ )? (?: netrc | npmrc | pypirc | pgpass | htpasswd | dockercfg )$
    | ^\.?git-credentials$ | ^kubeconfig$ | ^service[-_]account [^.]* \.json$
    """,
    re.VERBOSE,
)
# … where they are neither code nor prose
SECRET_NAME = re.compile(
    r"""
      ^ id_ (?: rsa | dsa | ecdsa | ed25519 )
    | (?: ^ | _ ) (?: credentials? | secrets? | passwords? | passwd ) (?: _ | $ )
    """,
    re.VERBOSE,
)


def extension_of(path: str) -> str:
    """Return the extension of a path in lower case, without its dot; empty if it has none."""
    return splitext(path.lower())[1][1:]


def project_folders(paths: Iterable[str]) -> frozenset[str]:
    """Return the top folders that are projects, whose names do not show kinds of files.

    Such a folder has a licence and the root has none, or it is the only top folder.

    >>> sorted(project_folders(["spec/LICENSE", "mock/COPYING", "tests/a.c"]))
    ['mock', 'spec']
    >>> project_folders(["LICENSE", "tests/LICENSE"]), project_folders(["bench/a.c", "bench/b.c"])
    (frozenset(), frozenset({'bench'}))
    """
    firsts, licensed = set[str](), set[str]()
    for path in paths:
        folder, _, name = path.rpartition("/")
        firsts.add(path.partition("/")[0])
        if LICENSE_NAME.match(name):
            licensed.add(folder)
    if len(firsts) == 1:
        return frozenset(firsts)
    return frozenset() if "" in licensed else frozenset(licensed & firsts)


@lru_cache(maxsize=1 << 16)
def path_kind(path: str) -> str:
    """Return the kind of a file by its path, one of `KINDS`; `notes` are release notes.

    >>> [path_kind(path) for path in ("src/pool.c", "docs/pool.md", "HISTORY.rst", "LICENSE")]
    ['code', 'manual', 'notes', 'legal']
    """
    lower, language = path.lower(), named_language(path)
    name = lower.rpartition("/")[2]
    if MACHINE_KEPT_ENDING.search(lower) or GENERATED_NAME.search(name) or name in LOCK_FILES:
        return "generated"
    rare = rare_kinds(path)
    is_sample = extension_of(path) in PAGE_EXTENSIONS and not {"test", "copy"}.isdisjoint(rare)
    if is_prose(path) and not is_sample:
        if RELEASE_NOTES_PATH.search(lower):
            return "notes"
        if LEGAL_PATH.search(lower):
            return "legal"
        return "translation" if TRANSLATED_PATH.search(f"/{lower}") else "manual"
    if rare:
        return rare[0]
    if _is_settings(name, language) or "." not in name:
        return "settings"
    return "header" if name.endswith(".h") else "code"


def _is_settings(name: str, language: str | None) -> bool:
    """Return whether a file with a name in lower case has settings or data."""
    return (
        language in SETTINGS_LANGUAGES
        or extension_of(name) in SETTINGS_EXTENSIONS
        or name.endswith(SETTINGS_NAMES)
    )


@lru_cache(maxsize=1 << 16)
def is_prose(path: str) -> bool:
    """Return whether a file is of prose: a page, a manual's source, or a notebook of a manual.

    >>> [is_prose(path) for path in ("a.adoc", "docs/a.ipynb", "a.ipynb", "requirements.txt")]
    [True, True, False, False]
    """
    path = path.removesuffix(".in")  # the ending of a template
    lower, language = path.lower(), named_language(path)
    name = lower.rpartition("/")[2]
    extension = name.rpartition(".")[2]
    if language == NOTEBOOK:
        return not MANUAL_FOLDERS.isdisjoint(folders_and_name(path)[0])
    if "." not in name:
        return bool(
            RELEASE_NOTES_PATH.search(lower)
            or LEGAL_PATH.search(lower)
            or MANUAL_WITHOUT_EXTENSION.match(name)
        )
    if extension == "txt":
        return not _is_settings(name, language)
    if language in MARKUP_LANGUAGES or extension in MARKUP_EXTENSIONS | PAGE_EXTENSIONS:
        return True
    return bool(MAN_PAGE.search(name) or DOCBOOK.search(lower))


def words_for_names(question: str) -> str:
    """Return a question for a comparison with names and paths: without "test", if it asks for none.

    >>> words_for_names("where is the chi-square test computed")
    'where is the chi-square  computed'
    """
    lower = question.lower()
    if "test" in asked_kinds(question) or ABOUT_TESTING.search(lower):
        return question
    return TEST_WORD.sub("", question).strip() or question


@lru_cache(maxsize=1 << 16)
def version_of(path: str) -> tuple[str, tuple[int, ...]]:
    """Return a path without folders of versions, and its version, which is higher if newer.

    >>> version_of("versioned_docs/version-1.x/a.md"), version_of("docs/a.md")
    (('docs/a.md', (0, 1, 9999)), ('docs/a.md', (3,)))
    >>> version_of("docs_v2/a.md"), version_of("latest/docs/a.md")
    (('docs/a.md', (0, 2)), ('docs/a.md', (2,)))
    """
    *folders, name = path.lower().split("/")
    kept = list[str]()
    version: tuple[int, ...] = (UNVERSIONED_RANK,)
    for folder in folders:
        unversioned = folder.removeprefix("versioned_")
        if match := VERSION_FOLDER.fullmatch(unversioned):
            unversioned, number = match.groups()
            parts = NUMBER_OR_X.findall(number)
            version = (0, *(WILDCARD_NUMBER if part == "x" else int(part) for part in parts))
            if kept and kept[-1] in VERSIONS_FOLDERS:
                kept.pop()
        elif folder in NAMED_VERSIONS:
            version = (NAMED_VERSIONS[folder],)
            unversioned = ""
        if unversioned:
            kept.append(unversioned)
    return "/".join([*kept, name]), version


def old_versions(question: str, paths: Collection[str]) -> set[str]:
    """Return the pages with a newer version among the paths, unless the question has their numbers.

    >>> old_versions("sessions", ["docs/a.md", "docs/v1/a.md", "docs/v1/b.md"])
    {'docs/v1/a.md'}
    """
    pages = [(path, *version_of(path)) for path in paths if is_prose(path)]
    newest: dict[str, tuple[int, ...]] = {}
    for _, page, version in pages:
        newest[page] = max(version, newest.get(page, version))
    numbers = {*NUMBER_WORD.findall(question)}
    return {
        path
        for path, page, version in pages
        if version < newest[page] and numbers.isdisjoint(map(str, version[1:]))
    }


def is_key_file(path: str) -> bool:
    """Return whether a file usually holds keys or passwords.

    >>> [is_key_file(path) for path in ("a.pem", "id_rsa.old", "secrets.yml", "secrets.py")]
    [True, True, True, False]
    """
    name = path.rpartition("/")[2].lower()
    if KEY_NAME.search(name):
        return True
    language = named_language(path)
    is_page = is_prose(path) and extension_of(path) != "txt"
    is_data = language is None or language in SETTINGS_LANGUAGES
    return is_data and not is_page and bool(SECRET_NAME.search("_".join(name_parts(name))))


def asked_kinds(question: str) -> frozenset[str]:
    """Return the kinds of files that rarely answer, but for which a question asks.

    >>> [*asked_kinds("test that a pool is closed")], [*asked_kinds("the chi-square test")]
    (['test'], [])
    """
    lower = question.lower()
    return frozenset(name for name, kind in RARE_KINDS.items() if kind.questions.search(lower))


KINDS_MEANT: dict[PreferredKind, tuple[str, ...]] = {
    "code": ("code", "header", "settings", "compatibility"),
    "docs": ("manual", "notes", "translation", "legal"),
    "tests": ("test",),
}


def _any_word(*words: str) -> re.Pattern[str]:
    """Return the pattern of any of these words, except in a symbol, a path or "I/O"."""
    return re.compile(rf"(?<![\w./:$#@'])(?:{'|'.join(words)})(?![\w/('])(?![.:]+\w)")


PLAIN_TEST = _any_word("test", "tests")
# "how do I" asks for a manual, "how does it" for code; few questions of the regression begin so
HOW_TO = re.compile(
    r"""
      \b how [ ] (?: to | (?: can | could | do | does | might | must | shall | should | would )
        [ ] (?: i | my | one | our | we | you ) ) \b
    | \b (?: (?: a | any | best | right ) [ ] way | possible ) [ ] to \b
    """,
    re.VERBOSE,
)
# "function that decides" asks for code
DESCRIBED_CODE = re.compile(
    r"^ (the[ ])? (class|code|constant|function|loop|method) e?s? [ ] (that|which|where)\b",
    re.VERBOSE,
)
PROSE_BIAS = -1.5  # the logit of prose for a question without cues
# what each line adds to the logit if the question has one of its words
WORD_CUES = """
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
PROSE_CUES = {
    re.compile(r"^\W*(?:may|since|what|when|which|why)\b(?!')"): 1.8,
    re.compile(r"\d\.\d"): 1.8,
    HOW_TO: 2.9,
    DESCRIBED_CODE: -2.9,
    re.compile(r"^\s*\S+\s*$"): -1.5,  # one word, which is a symbol
}
for weight, *cues in map(str.split, WORD_CUES.strip().splitlines()):
    PROSE_CUES[_any_word(*cues)] = float(weight)
RELEASE_WORD = re.compile(
    r"""
    \b (?: versions? | releases?d? | since | changed? | change-?logs? | upgrad\w+ | migrat\w+
      | deprecated | breaking | cve\S* | \d+\.\d+\S* | no [ ] longer | going [ ] from
      | replace[sd]? | added | fixing | used [ ] to | before ) \b
    """,
    re.VERBOSE | re.IGNORECASE,
)
# with these words, a question that names tests does not ask for tests
ABOUT_TESTING = re.compile(
    r"""
      \b (?: under | run ) [ ] (?: the [ ] )? tests? \b
    | \b tests? [ ] (?: runner | client | suite | helper | server | framework | utilit(?: y | ie ) )
      s? \b
    """,
    re.VERBOSE,
)
MIN_KIND_WEIGHT = 0.4  # the weight of prose for a question about code, and the other way round


def kind_weights(question: str, kind: PreferredKind | None = None) -> Mapping[str, float]:
    """Return the weight, 0 … 1, of each kind of file for a question; `kind` leaves only its own.

    >>> [kind_weights(q)["manual"] for q in ("which version is required", "parse a header")]
    [1.0, 0.4]
    """
    if kind == "all":
        return dict.fromkeys(KINDS, 1.0)
    lower = question.lower()
    logit = PROSE_BIAS + sum(weight for cue, weight in PROSE_CUES.items() if cue.search(lower))
    prose = 1 / (1 + math.exp(-logit))  # the probability that prose answers
    manual = max(MIN_KIND_WEIGHT, min(1.0, 2 * prose))
    code = max(MIN_KIND_WEIGHT, min(1.0, 2 * (1 - prose)))
    asked = asked_kinds(question)
    tests = "test" in asked and not (ABOUT_TESTING.search(lower) or HOW_TO.search(lower))
    if tests:
        manual, code = manual / 2, code / 2
    # "the chi-square test" asks for code; names and paths of tests have the word, too
    unasked_test = 0.25 if PLAIN_TEST.search(lower) else 0.4
    weights = {
        "code": code,
        "header": 0.8 * code,  # it declares what other files define
        "settings": 0.7 * code,
        "compatibility": 0.5 * code,
        "generated": 0.4 * code,
        "copy": 0.4 * code,
        "test": 1.0 if tests else unasked_test * code,
        "example": 1.0 if "example" in asked else 0.5 * code,
        "manual": manual,
        "notes": manual if RELEASE_WORD.search(question) else manual / 2,
        "translation": manual / 2,
        "legal": manual / 2,
    }
    if kind is None:
        return weights
    return {name: weight * (name in KINDS_MEANT[kind]) for name, weight in weights.items()}
