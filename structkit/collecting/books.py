"""Books (EPUB): the chapters that a package lists, in their reading order.

Source: EPUB 3.3, sections 4.2 (container) and 5 (package document).

Tests: tests/collecting/test_archives.py.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

from structkit.collecting.encodings import decode
from structkit.structure.html.markup import attributes, element_content, tags

CONTAINER = "META-INF/container.xml"  # names the package
MAX_PACKAGE_BYTES = 10_000_000


class Chapter(NamedTuple):
    """A file of a book: its path in the archive, its declared type, the title of the book."""

    path: str
    media: str
    book: str


def chapters_of(zipped: zipfile.ZipFile) -> list[Chapter]:
    """Return the chapters in the spine of a book; none if it has no package that lists any."""
    roots = _elements(_read(zipped, CONTAINER), "rootfile")
    package_path = next((root["full-path"] for root in roots if "full-path" in root), "")
    package = _read(zipped, package_path)
    manifest = {item.get("id"): item for item in _elements(package, "item")}
    book = _title(package)
    chapters: dict[str, Chapter] = {}
    for entry in _elements(package, "itemref"):
        item = manifest.get(entry.get("idref"), {})
        if "href" in item:
            href = unquote(urldefrag(item["href"]).url)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(package_path), href))
            chapters.setdefault(path, Chapter(path, item.get("media-type", ""), book))
    return list(chapters.values())


def _read(zipped: zipfile.ZipFile, name: str) -> str:
    """Return a file of the package, cut where it is too large; empty if it is missing."""
    try:
        with zipped.open(name) as handle:
            return decode(handle.read(MAX_PACKAGE_BYTES), "xml")
    except KeyError:
        return ""


def _elements(xml: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of the elements of a name, in whatever namespace."""
    for tag in tags(xml, xml=True):
        if tag.name.rpartition(":")[2] == name:
            yield attributes(xml[tag.start : tag.end])


def _title(package: str) -> str:
    """Return the first title of a book, with any white space as one space."""
    found = list(tags(package, xml=True))
    name = next((tag.name for tag in found if tag.name in ("dc:title", "title")), "")
    span = element_content(found, name) if name else None
    return " ".join(unescape(package[slice(*span)]).split()) if span else ""
