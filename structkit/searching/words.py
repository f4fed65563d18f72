"""Words of code, prose and names, and where a question's are in a text."""

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from itertools import chain
from posixpath import splitext

from structkit.structure import Span

ASCII_WORD = re.compile(r"\w+")
NAME_PART_BREAK = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# the 33 of Lucene's EnglishAnalyzer
LUCENE_STOPWORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with".split()
)

# endings after a shared stem
STEM_ENDINGS = frozenset(
    "e y s d r es ed er ers or ors ing ings ion ions ation ations ies ied able ables ity ities "
    "al als ment ments".split()
) | {""}
MIN_STEM_CHARACTERS = 3  # characters of a stem
# words of questions that names lack, beyond Lucene's
QUESTION_WORDS = frozenset(
    "how does do did what where which when why can could should would from using via i my we our "
    "you your".split()
)
# files named after their role in a folder, whose own name is more specific
ROLE_FILE_NAMES = frozenset("index init main lib mod package doc".split())
SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:::|\\|->|\.|#)[^\W\d]\w*)*")
SYMBOL_SEPARATOR = re.compile(r"::|\\|->|\.|#")

# removed by NFKC_Casefold, except the zero width space, which parts words; trade marks, which NFKC
# makes letters of the word before them; and Arabic vowel marks and tatweel, as Lucene does
IGNORED_CHARACTERS = (
    "\u00ad\u034f\u061c\u0640\u064b-\u0652\u0670\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff\u2120\u2122"
)
# scripts that write words without a space: Chinese, Japanese, Thai and its neighbors; and Korean,
# whose particles follow a word without one
UNSPACED_SCRIPTS = (
    "\u0e01-\u0e4f\u0e81-\u0ecf\u1000-\u103f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3041-\u30fa"
    "\u30fc-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# combining marks, which \w lacks, of other scripts: accents, Hebrew and Arabic points, Indic vowels
COMBINING_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0971-\u0ddf"
)
# letters, digits or underscores by NFKC: ℃, №, ⓐ, ㎏, radicals, vertical and wide forms
COMPATIBILITY_SYMBOLS = (
    "\u20a8\u2100-\u214f\u2460-\u24ff\u2e80-\u2fd5\u3190-\u33ff\ufdfc\ufe33-\ufe4f\uff3f"
    "\U0001f100-\U0001f2ff"
)
# the next two take 8 ms to compile: `re` does so when a text that is not ASCII needs them
TOKEN_PATTERN = (
    rf"[\w{UNSPACED_SCRIPTS}{COMBINING_MARKS}{COMPATIBILITY_SYMBOLS}{IGNORED_CHARACTERS}]+"
)
# in a normalized text: a run of such a script, without underscores around it; or a word
RUN_OR_WORD = (
    rf"_*([{UNSPACED_SCRIPTS}]+)_*"
    rf"|((?:(?!_+[{UNSPACED_SCRIPTS}])[^\W{UNSPACED_SCRIPTS}][{COMBINING_MARKS}]*)+)"
)
# characters that NFKC may join
NFKC_CLUSTER = re.compile(
    rf"[\u1100-\u115f][\u1160-\u11a7]?[\u11a8-\u11ff]?|.[{COMBINING_MARKS}\u3099\u309a\uff9e\uff9f]*",
    re.DOTALL,
)
IGNORED_PATTERN = re.compile(f"[{IGNORED_CHARACTERS}]")


def folded_words(text: str) -> list[str]:
    """Return the case-folded words of a text without stopwords, and parts of identifiers.

    Parts end at underscores and within camelCase. Chinese, Japanese and Korean have pairs of
    characters.

    >>> folded_words("def readHTTPBody(self, max_size):")
    ['def', 'readhttpbody', 'read', 'http', 'body', 'self', 'max_size', 'max', 'size']
    >>> folded_words("Straße 機械学習")
    ['strasse', '機械', '械学', '学習']
    """
    return list(chain.from_iterable(map(word_and_parts, split_words(text))))


@lru_cache(maxsize=1 << 17)
def document_words(text: str) -> tuple[str, ...]:
    """Return the words of a document's text: as `folded_words`, and single characters.

    A query may be one character. They are those of its pieces (`structure.bags`) together.
    """
    if text.isascii() and (text.isidentifier() or text.isalnum()):  # as most pieces are
        return word_and_parts(text)
    return tuple(chain.from_iterable(map(word_and_parts, split_words(text, document=True))))


def normalize(text: str) -> str:
    """Return a text in one form (NFKC), without unseen characters.

    >>> normalize("ﬁle café Ｐｙｔｈｏｎ co­operate")
    'file café Python cooperate'
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", IGNORED_PATTERN.sub("", text))


def fold(word: str) -> str:
    """Return a word of a normalized text without its case.

    >>> fold("STRASSE") == fold("Straße"), fold("İstanbul")
    (True, 'istanbul')
    """
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFC", word.casefold()).replace("i\u0307", "i")


def split_words(text: str, *, document: bool = False) -> list[str]:
    """Return the words of a text, with their case; a run without spaces gives pairs.

    A `document` has the single characters too, for a query of one. Source: Nie and Ren 1999,
    "Chinese information retrieval: using characters or words?"

    >>> split_words("Python入門", document=True)
    ['Python', '入', '門', '入門']
    """
    if text.isascii():
        return ASCII_WORD.findall(text)
    words: list[str] = []
    for token in re.findall(TOKEN_PATTERN, unicodedata.normalize("NFC", text)):
        if token.isascii():
            words.append(token)
            continue
        for run, word in re.findall(RUN_OR_WORD, normalize(token)):
            if word:
                words.append(word)
            if document or len(run) == 1:
                words += run
            words += map("".join, zip(run, run[1:], strict=False))
    return words


@lru_cache(maxsize=1 << 18)
def word_and_parts(word: str) -> tuple[str, ...]:
    """Return a word without its case and then its parts, if it has several; without stopwords."""
    folded = fold(word)
    spaced = folded.replace("_", " ")
    if folded[1:] != word[1:]:  # a capital inside
        spaced = fold(NAME_PART_BREAK.sub(" ", word))
    parts = spaced.split()
    words = (folded, *parts) if len(parts) > 1 else (folded,)
    if LUCENE_STOPWORDS.isdisjoint(words):
        return words
    return tuple(part for part in words if part not in LUCENE_STOPWORDS)


def question_words(question: str) -> list[str]:
    """Return the words of a question that an answer may have, each once.

    >>> question_words("When should I let the HTTPClient retry?")
    ['let', 'httpclient', 'http', 'client', 'retry']
    """
    words = dict.fromkeys(folded_words(question))
    return [word for word in words if word not in QUESTION_WORDS] or list(words)


def same_stem(one: str, other: str) -> bool:
    """Return whether two words differ only in their endings and underscores.

    >>> same_stem("retries", "retry"), same_stem("config", "configuration")
    (True, False)
    >>> same_stem("file_names", "filename")
    True
    """
    if one[:MIN_STEM_CHARACTERS] != other[:MIN_STEM_CHARACTERS]:  # the usual case
        return False
    one, other = one.replace("_", ""), other.replace("_", "")
    for stem in _stems(one) if one != other else ():
        if other.startswith(stem):
            at = len(stem)
            return other[at:] in STEM_ENDINGS and other[at : at + 1] != one[at : at + 1]
    return one == other


@lru_cache(maxsize=1 << 16)
def _stems(word: str) -> list[str]:
    """Return what is before an ending of a word, longest first."""
    stems = (word[:size] for size in range(len(word), MIN_STEM_CHARACTERS - 1, -1))
    return [stem for stem in stems if word[len(stem) :] in STEM_ENDINGS]


def shortens(one: str, other: str) -> bool:
    """Return whether the longer of two words begins with the other; an s at its end is a plural's.

    >>> shortens("impls", "implementation"), shortens("configure", "conf")
    (True, True)
    """
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    start = shorter if shorter.endswith("ss") else shorter.removesuffix("s")
    return len(longer) - 2 >= len(start) >= MIN_STEM_CHARACTERS and longer.startswith(start)


@lru_cache(maxsize=1 << 16)
def name_parts(name: str) -> tuple[str, ...]:
    """Return the case-folded words of a name, each once.

    >>> name_parts("src/HTTPClient_pool.py")
    ('src', 'http', 'client', 'pool', 'py')
    """
    folded = (
        fold(part) for word in split_words(name) for part in NAME_PART_BREAK.split(word) if part
    )
    return tuple(dict.fromkeys(folded))


def query_parts(query: str) -> tuple[str, ...]:
    """Return the words of a query that may occur in names.

    >>> query_parts("how does the HTTPClient retry")
    ('http', 'client', 'retry')
    """
    return tuple(
        word
        for word in name_parts(query)
        if word not in LUCENE_STOPWORDS and word not in QUESTION_WORDS
    )


@lru_cache(maxsize=1 << 16)
def _stem_starts(terms: tuple[str, ...]) -> frozenset[str]:
    return frozenset(term[:MIN_STEM_CHARACTERS] for term in terms)


@lru_cache(maxsize=1 << 16)
def _related_terms(terms: tuple[str, ...], word: str) -> frozenset[str]:
    if word[:MIN_STEM_CHARACTERS] not in _stem_starts(terms):  # the usual case
        return frozenset()
    return frozenset(term for term in terms if same_stem(term, word) or shortens(term, word))


def related_terms(terms: Sequence[str], words: Iterable[str]) -> list[frozenset[str]]:
    """Return the terms with the stem of each word, or of which one begins with the other.

    >>> [sorted(each) for each in related_terms(["conf", "route"], ["config", "of", "router"])]
    [['conf'], [], ['route']]
    """
    key = tuple(terms)  # paths and names have the same words again and again
    return [_related_terms(key, word) for word in words]


@lru_cache(maxsize=1 << 16)
def file_and_folders(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a file's name, and of its folders.

    >>> file_and_folders("src/http_client/retry.test.ts")
    (('retry', 'test'), ('src', 'http', 'client'))
    >>> file_and_folders("src/routing/mod.rs")
    (('routing',), ('src',))
    """
    folder, _, file = path.rpartition("/")
    name = name_parts(splitext(file)[0])
    outer, _, own = folder.rpartition("/")
    if own and ROLE_FILE_NAMES.issuperset(name[:1]):
        return name_parts(own), name_parts(outer)
    return name, name_parts(folder)


def symbols(query: str) -> list[list[str]]:
    """Return the symbols in a query, each as its qualifiers and its name.

    A single word is one; among several, those that are qualified or written like an identifier.

    >>> symbols("Router"), symbols("how Foo.bar calls to_json")
    ([['Router']], [['Foo', 'bar'], ['to_json']])
    """
    symbols = [SYMBOL_SEPARATOR.split(text) for text in SYMBOL.findall(normalize(query))]
    if len(query.split()) == 1:
        return symbols
    return [names for names in symbols if len(names) > 1 or len(name_parts(names[0])) > 1]


@lru_cache(maxsize=1 << 16)
def plain_name(name: str) -> str:
    """Return a name without its style: `foo_bar`, `fooBar` and `FooBar` are `foobar`."""
    return "".join(name_parts(name))


def shared_words(terms: Sequence[str], name: str) -> float:
    """Return the geometric mean of the shares of shared words, in query and name.

    `terms` are different words.

    >>> shared_words(["open", "a", "retry", "pool"], "Client.openPools")
    0.7071067811865476
    >>> shared_words(["open"], "→"), shared_words([], "Überblick")
    (0.0, 0.0)
    """
    lower = name.lower()
    if name.isascii() and not any(start in lower for start in _stem_starts(tuple(terms))):
        return 0.0  # the usual case
    words = name_parts(SYMBOL_SEPARATOR.split(name)[-1])
    shared = [*filter(None, related_terms(terms, words))]
    if not shared:  # nor has a name such as `…` any words
        return 0.0
    found_terms = frozenset[str]().union(*shared)
    return float((len(found_terms) / len(terms) * len(shared) / len(words)) ** 0.5)


def occurrences(text: str, terms: Set[str]) -> tuple[Span, ...]:
    """Return the places of the terms, or of others with their stems, in a line.

    >>> occurrences("maxRetries = retry", {"retries"})
    ((3, 10), (13, 18))
    """
    plain, offsets = normalize_in_place(text)
    spans: list[Span] = []
    for match in re.finditer(RUN_OR_WORD, plain):
        first, last = match.span(1 if match[1] else 2)
        pieces = [(first, last)]
        if match[1]:
            pieces = [(at, min(at + size, last)) for at in range(first, last) for size in (2, 1)]
        elif not is_term(fold(match[2]), terms):
            breaks = NAME_PART_BREAK.finditer(plain, first, last)
            ends = [first, *chain.from_iterable(part_break.span() for part_break in breaks), last]
            pieces = list(zip(ends[::2], ends[1::2], strict=True))
        for start, end in pieces:
            if is_term(fold(plain[start:end]), terms):
                span = offsets[start][0], offsets[end - 1][1]
                if spans and span[0] < spans[-1][1]:  # pairs of characters overlap
                    before = spans.pop()
                    span = before[0], max(span[1], before[1])
                spans.append(span)
    return tuple(spans)


def normalize_in_place(text: str) -> tuple[str, list[Span]]:
    """Return a normalized text, and the place of each of its characters in the text.

    >>> normalize_in_place("ﬁx")
    ('fix', [(0, 1), (0, 1), (1, 2)])
    """
    if text.isascii():  # as nearly all lines of code are
        return text, [(offset, offset + 1) for offset in range(len(text))]
    plain = ""
    offsets = list[Span]()
    for match in NFKC_CLUSTER.finditer(text):
        normalized = normalize(match[0])
        plain += normalized
        offsets += [match.span()] * len(normalized)
    return plain, offsets


def is_term(word: str, terms: Set[str]) -> bool:
    """Return whether a word is one of the terms, or another one with the stem of one."""
    return word in terms or any(same_stem(word, other) for other in terms)
