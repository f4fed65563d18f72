"""Names in paths, programs and queries: their words, and what counts as the same word."""

from __future__ import annotations

import re
from functools import lru_cache
from os.path import commonprefix
from pathlib import PurePosixPath

from structkit.searching.words import ENDINGS, PART, SHORTEST, STOPWORDS, WORD

# beyond Lucene's, what questions consist of and names do not
QUESTION = frozenset("how does do what where which when why can from using via".split())


@lru_cache(maxsize=1 << 16)
def parts(name: str) -> tuple[str, ...]:
    """The lower-case words that a name is made of, each once.

    >>> parts("src/HTTPClient_pool.py")
    ('src', 'http', 'client', 'pool', 'py')
    """
    lowered = (part.lower() for word in WORD.findall(name) for part in PART.split(word) if part)
    return tuple(dict.fromkeys(lowered))


def asked(query: str) -> tuple[str, ...]:
    """The words of a query that may occur in names.

    >>> asked("how does the HTTPClient retry")
    ('http', 'client', 'retry')
    """
    return tuple(word for word in parts(query) if word not in STOPWORDS and word not in QUESTION)


@lru_cache(maxsize=1 << 16)
def alike(one: str, other: str) -> bool:
    """Whether two words have the same stem, or one begins with the other.

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


# files named after their role in a folder, whose own name tells more
ROLES = frozenset("index init main lib mod package doc".split())
SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:::|\\|->|\.|#)[^\W\d]\w*)*")
SEPARATOR = re.compile(r"::|\\|->|\.|#")


@lru_cache(maxsize=1 << 16)
def file_and_folders(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a file's name, and those of its folders.

    >>> file_and_folders("src/http_client/retry.test.ts")
    (('retry', 'test'), ('src', 'http', 'client'))
    >>> file_and_folders("src/routing/mod.rs")
    (('routing',), ('src',))
    """
    place = PurePosixPath(path)
    name, folder = parts(place.stem), place.parent
    if ROLES.issuperset(name[:1]) and folder.name:
        name, folder = parts(folder.name), folder.parent
    return name, parts(str(folder))


def symbols(query: str) -> list[list[str]]:
    """The symbols that a query writes, each by its qualifiers and its name.

    A single word is one; among several, those that are qualified or written like an identifier.

    >>> symbols("Router"), symbols("how Foo.bar calls to_json")
    ([['Router']], [['Foo', 'bar'], ['to_json']])
    """
    symbols = [SEPARATOR.split(text) for text in SYMBOL.findall(query)]
    if len(query.split()) == 1:
        return symbols
    return [names for names in symbols if len(names) > 1 or len(parts(names[0])) > 1]


def plain_name(name: str) -> str:
    """A name without its style: `foo_bar`, `fooBar` and `FooBar` are `foobar`."""
    return "".join(parts(name))
