"""The links between pages: their words count for the page to which they lead.

Tests: tests/asking/test_links.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from posixpath import dirname, join, normpath, splitext
from urllib.parse import unquote

import numpy as np
import orjson

from structkit.asking.cache import IndexedFile, Store, pack_files
from structkit.embeddings.vectors import Floats, IntArray
from structkit.searching.bm25 import POSTINGS_ARRAYS, Postings, WordIndex
from structkit.structure.bags import Bags

PARTS_PREFIX = "links "  # of the store's parts with the links between pages
MAX_LINK_CHARACTERS = 300
HTML_TAG = re.compile("<[^<>]*>")
HTML_ANCHOR = re.compile(r"<a\b([^<>]*)>", re.I)
HREF = re.compile(r"""\shref\s*=\s*["']?([^"'\s<>#?:]++)(?!:)""", re.I)  # of a page of the folder
# where the words of a link in HTML end: at another one, or at an item
HTML_ITEM = re.compile(r"<(?:a|li|dt|tr|h[1-6]|/[duo]l|/table|/p|/div)\b", re.I)
MARKUP_LINK = re.compile(
    r"""
    \[ ( (?: [^][]++ | \[ [^][]* \] )*+ ) \]  # Markdown: the words, with an image
    \( \s{0,9} <? ([^)\s<>#?:]{1,300}+) (?!:)  # a page of the folder, not an address
    [^()\n]* \)
    |
    :(doc|ref):` (?: ([^`<]*) < )? ([^`<>]+) >? `  # reStructuredText: words, page or label
    """,
    re.VERBOSE,
)
# where the words after such a link end
MARKUP_ITEM = re.compile(
    r"""
    \[ (?= [^][\n]* \]\( )  # at another link
    | : (?= (?:doc|ref):` )
    | \n (?= \s* (?: [-*+|#>] | \d{1,9}[.)] | \n ) )  # at an item, a row, a heading, a blank line
    """,
    re.VERBOSE,
)
RST_LABEL = re.compile(r"\.\. _([^:\n]{1,99}):[ \t]*\n")
LABEL_PREFIX = ":"  # of a label of reStructuredText in the place of a page


@dataclass(frozen=True)
class Links:
    """The words of each link to another page, and the number of that page's file, (links,)."""

    words: WordIndex
    pages: IntArray

    @classmethod
    def read(cls, store: Store, files: Sequence[IndexedFile], pages: Iterable[int]) -> Links:
        """Return the links on some of the files, given by their numbers; the store keeps them."""
        state = hashlib.blake2b(pack_files(files)).digest()
        kept = store.parts(("of", "words", *POSTINGS_ARRAYS, "pages"), PARTS_PREFIX)
        if kept is None or kept["of"] != state:
            links = dict.fromkeys(_links(store, files, pages))  # each once
            plain = (HTML_TAG.sub(" ", words)[:MAX_LINK_CHARACTERS] for words, _ in links)
            postings = Postings.of_bags(Bags.of(map(unescape, plain)))
            numbers = orjson.dumps([page for _, page in links])
            kept = {"of": state, **postings.data(), "pages": numbers}
            with store.changing():
                store.put_parts(kept, PARTS_PREFIX)
        numbers_read = np.array(orjson.loads(kept["pages"]), np.int64)
        index = WordIndex([(Postings.read(kept), np.arange(len(numbers_read)))])
        return cls(index, numbers_read)

    def scores(self, asked: Sequence[str], files: int) -> Floats:
        """Return the highest cosine of words with a link to each of so many files, (files,)."""
        shared = (self.words.counts_of(asked) > 0).sum(1)
        cosines = shared / np.sqrt(np.maximum(len(asked) * self.words.lengths, 1))
        scores = np.zeros(files)
        np.maximum.at(scores, self.pages, cosines)
        return scores


def _links(
    store: Store, files: Sequence[IndexedFile], pages: Iterable[int]
) -> Iterator[tuple[str, int]]:
    """Yield the text of each link and of what it begins, and the number of its page."""
    number_of = dict[str, int]()  # by path, by path as links write it, by label
    for number, file in enumerate(files):
        number_of[_name(file.path)] = number_of[file.path] = number
    found = list[tuple[int, str, str]]()
    for number in pages:
        records = store.records(files[number])
        html = "\n\n".join(record["html"] for record in records if "html" in record)
        if html:
            found += [(number, *link) for link in html_links(html)]
            continue
        text = "\n\n".join(record.get("text", "") for record in records)
        found += [(number, *link) for link in markup_links(text)]
        for label in RST_LABEL.findall(text):
            number_of[LABEL_PREFIX + label.lower()] = number
    for number, href, words in found:
        path = href
        if not href.startswith(LABEL_PREFIX):
            path = normpath(join(dirname(files[number].path), unquote(href))).lstrip("/")
        page = number_of.get(path, number_of.get(_name(path), number))
        if page != number:
            yield words, page


def _name(path: str) -> str:
    """Return a path as links may write it: in any case, without ending, without `index`."""
    return splitext(path.lower())[0].removesuffix("/index")


def html_links(html: str) -> Iterator[tuple[str, str]]:
    """Yield the page and the words of each link.

    >>> list(html_links("<li><a href=a.html>One</a> or two<li>Three"))
    [('a.html', 'One</a> or two')]
    """
    items = [match.start() for match in HTML_ITEM.finditer(html)]
    for start, end in pairwise([*items, len(html)]):
        anchor = HTML_ANCHOR.match(html, start)
        if anchor and (href := HREF.search(anchor[1])):
            yield href[1], html[anchor.end() : end]


def markup_links(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the page or label and the words of each link in Markdown or reStructuredText.

    >>> list(markup_links("- [One](a.md): two\n- :ref:`Three <Four>`"))
    [('a.md', 'One : two'), (':four', 'Three  ')]
    """
    position = 0
    while link := MARKUP_LINK.search(text, position):
        item = MARKUP_ITEM.search(text, link.end())
        position = item.start() if item else len(text)
        words, page, role, title, name = link.groups("")
        if role == "ref":
            page = LABEL_PREFIX + name.lower()
        yield page or name, f"{words}{title} {text[link.end() : position]}"
