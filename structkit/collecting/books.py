"""Books (EPUB): the chapters that a package lists, in their reading order.

Source: EPUB 3.3, sections 4.2 (container) and 5 (package document).

Tests: tests/collecting/test_archives.py.
"""

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

CONTAINER = "META-INF/container.xml"  # names the package
PACKAGE_TYPE = "application/oebps-package+xml"
MAX_PACKAGE_BYTES = 10_000_000  # of which the elements are read


class Chapter(NamedTuple):
    """A file of a book: its path in the archive, its declared type, the title of the book."""

    path: str
    media: str
    book: str


def chapters_of(zipped: zipfile.ZipFile) -> list[Chapter]:
    """Return the chapters in the spine of a book; none if it has no package that lists any."""
    roots = _elements(zipped, CONTAINER, "rootfile")
    packages = (root for root in roots if root.get("media-type", PACKAGE_TYPE) == PACKAGE_TYPE)
    package = next((root.get("full-path", "").lstrip("/") for root in packages), "")
    manifest = {item.get("id"): item for item in _elements(zipped, package, "item")}
    titles = ("".join(title.itertext()) for title in _elements(zipped, package, "title"))
    book = " ".join(next(titles, "").split())
    chapters: dict[str, Chapter] = {}
    for entry in _elements(zipped, package, "itemref"):
        item = manifest.get(entry.get("idref"), {})
        if href := item.get("href"):
            href = unquote(urldefrag(href).url)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(package), href))
            chapters.setdefault(path, Chapter(path, item.get("media-type", ""), book))
    return list(chapters.values())


def _elements(zipped: zipfile.ZipFile, file: str, name: str) -> Iterator[Any]:
    """Yield the elements of a name in a file of XML, in whatever namespace."""
    from lxml import etree  # other files do not need it

    with suppress(KeyError, etree.XMLSyntaxError), zipped.open(file) as handle:
        parser = etree.XMLParser(recover=True, resolve_entities=False)
        root = etree.fromstring(handle.read(MAX_PACKAGE_BYTES), parser)
        if root is not None:
            yield from root.iter(f"{{*}}{name}")
