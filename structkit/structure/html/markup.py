"""Markup in texts: where tags, comments and scripts are; repairs before parsing; references.

Tests: tests/structure/html/test_html_laws.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from structkit.structure import Span
from structkit.structure.html.tags import SEPARATORS

SILENT = frozenset(("script", "style", "iframe", "noembed", "noframes", "noscript", "xmp"))
PLAIN = frozenset(("title", "textarea"))  # their content is text, a `<` in it included
RAW = SILENT | PLAIN
SPACES = " \t\n\f\r"
# a tag, up to the `>` that is in no quoted value; a comment, also `<!-->`; a declaration
MARKUP = re.compile(
    r"""<(?:(/?[a-zA-Z][^ \t\n\f\r/>]*)
    (?>[ \t\n\f\r/]+ | [^ \t\n\f\r/>][^ \t\n\f\r/>=]*
      (?>[ \t\n\f\r]*=[ \t\n\f\r]*(?>"[^"]*(?:"|\Z) | '[^']*(?:'|\Z) | [^ \t\n\f\r>]*))?)*+
    (?:>|\Z)
    | (?=!--).*?(?:-->|\Z)
    | (?:[!?]|/(?=.))[^>]*(?:>|\Z))""",
    re.X | re.S,
)
REFERENCE = re.compile(r"&#?\w+;?", re.ASCII)
BOM = "\ufeff"
CDATA = "<![CDATA["
CUT = "\x02"  # of our comments; to the parser it is a character like any other
JOINT = "\u2028"  # white space where a tag separates words; in a text it is rare
INERT = ("template", "noscript")  # the parser takes their content for part of the document
ONCE = frozenset(("html", "head", "body"))  # start tags that the parser drops
HEADING = re.compile("h[1-6]")
# an end tag, perhaps of a block, that neither a space nor a block's tag follows
_GLUED = rf"""</(?:[dfhlmnoptuvx] | a[rsdu] | b[lrou] | c[ae] | col | em | i[fmns] | s[euv])[^>]*+>
    (?=[^\s<] | <(?!!--{CUT} | /?(?:{"|".join(sorted(SEPARATORS))})[\s/>]))"""
NAMED = re.compile(r"[^\s/<>]+")
# markup that libxml2 does not read as the standard says, except end tags that it drops: a heading
# that another one's end tag ends, `</br>`, templates, scripts' substitutes unless each of their
# elements is closed, and two things that hide such an end tag, or drop a start tag after text
_RARE = r"""<(?:h(?:([1-6])[\s>](?:[^<]++ | <(?!/?h[1-6]))*+</h(?!\1)
      | (?:tml | ead)[\s>](?<=[^\s>]<.....))
    | /br[\s/>]
    | t(?:emplate[\s/>] | (itle | extarea)\b[^>]*>[^<]*+<(?!/t\2))
    | noscript\b[^>]*>
      (?!(?:[^<] | <(?:img | link | meta)\b[^>]*> | <(\w+)\b[^>]*>[^<]*</\3>)*+</noscript)
    | xmp\b
    | body[\s>](?<=[^\s>]<.....))"""
# for small letters, and for any: the first are faster, and capitals are rare
GLUED, RARE = ((re.compile(each, re.X), re.compile(each, re.X | re.I)) for each in (_GLUED, _RARE))
CAPITAL = re.compile("</[A-Z]")
escape = partial(html.escape, quote=False)  # quotes are no markup in a text


class Tag(NamedTuple):
    """Tag, comment or script content; `name` is `p`, `/p`, or empty if it is no tag."""

    name: str
    start: int
    end: int


def visible_text(text: str) -> str:
    """Replace every character of a text's markup by a space, so that the rest keeps its place.

    Markup is tags, comments, the content of scripts and styles, and character references; a
    reference to a letter becomes underscores, so that its word is not mistaken for a shorter one.

    >>> visible_text('<a href="x">caf&eacute;</a> &amp; bar')
    '            caf________           bar'
    """
    if "<" not in text and "&" not in text:
        return text
    parts, at = [], 0
    for tag in tags(text):
        parts += [_without_references(text[at : tag.start]), " " * (tag.end - tag.start)]
        at = tag.end
    return "".join([*parts, _without_references(text[at:])])


def _without_references(text: str) -> str:
    return REFERENCE.sub(_blank, text) if "&" in text else text


def _blank(match: re.Match[str]) -> str:
    decoded = html.unescape(match[0])
    if decoded == match[0]:
        return decoded
    return ("_" if any(map(str.isalnum, decoded)) else " ") * len(match[0])


def content(text: str, name: str) -> Span | None:
    """Return the span of the content of the first element of that name.

    >>> content("<p>a <b>c</b></p>", "b")
    (8, 9)
    """
    start = None
    for tag in tags(text):
        if start is None and tag.name == name:
            start = tag.end
        elif start is not None and tag.name == f"/{name}":
            return start, tag.start
    return None if start is None else (start, len(text))


def tags(text: str, *, closing: bool = False) -> Iterator[Tag]:
    """Yield every tag, comment and declaration, as a browser's tokenizer reads them.

    Source: the HTML standard, section 13.2.5. A tag that never ends takes the rest of the text. The
    content of `<template>`, which is no part of the document, is one nameless tag, like the content
    of `<script>`. With `closing`, `<script/>` has no content, as libxml2 and XHTML read it.

    >>> [tag.name for tag in tags("1 < 2 <b title='>'>x</b><!-- <i> --><script>'<p>'</script>")]
    ['b', '/b', '', 'script', '', '/script']
    """
    at = inert = templates = 0
    while match := MARKUP.search(text, at):
        at, name = match.end(), (match[1] or "").lower()
        if name == "/template" and templates:
            templates -= 1
            if not templates and match.start() > inert:
                yield Tag("", inert, match.start())
        if not templates:
            yield Tag(name, match.start(), at)
            inert = at
        if name == "template":
            templates += 1
        elif name in RAW and not (closing and text[at - 2] == "/"):
            end_tag = re.compile(f"</{name}[ \\t\\n\\f\\r/>]", re.A | re.I).search(text, at)
            end = end_tag.start() if end_tag else len(text)
            if name in SILENT and end > at and not templates:
                yield Tag("", at, end)
            at = end
    if templates and inert < len(text):
        yield Tag("", inert, len(text))


def repair(html: str) -> str:
    """Change the text so that libxml2 reads it as the HTML standard says.

    Line ends become one character, null characters go. The tag of a block separates words also
    where libxml2 drops it. CDATA sections in SVG and MathML become text.
    """
    html = html.lstrip(BOM)
    if "\0" in html:
        html = html.replace("\0", "")
    if "\r" in html:
        html = html.replace("\r\n", "\n").replace("\r", "\n")
    if CDATA in html:
        html = _without_sections(html)
    capitals = CAPITAL.search(html) is not None
    if RARE[capitals].search(html):
        return "".join(_repaired(html))
    return GLUED[capitals].sub(_joint, html)


def _joint(tag: re.Match[str]) -> str:
    name = NAMED.search(tag[0])
    return tag[0] + JOINT if name and name[0].lower() in SEPARATORS else tag[0]


def _repaired(html: str) -> Iterator[str]:
    """Yield a text in parts, with repaired tags, and without what is no part of the document."""
    at = 0
    heading = before = ""  # the heading that is open, the tag before
    for tag in tags(html):
        name = tag.name
        block = name.removeprefix("/") in SEPARATORS
        if not name and before in INERT:
            yield html[at : tag.start]
            at = tag.end
        elif name == "/br":
            yield f"{html[at : tag.start]}<br>"
            at = tag.end
        elif HEADING.fullmatch(name):
            heading = name
        elif heading and HEADING.fullmatch(name[1:]):
            yield f"{html[at : tag.start]}</{heading}>{JOINT}"
            heading, at = "", tag.end
        elif block and (name[0] == "/" or name in ONCE):
            yield html[at : tag.end] + JOINT
            at = tag.end
        before = name
    yield html[at:]


def _without_sections(html: str) -> str:
    """Return the text with its CDATA sections in SVG and MathML as text."""
    parts = []
    at = depth = 0
    for tag in tags(html):
        if tag.start < at:
            continue
        if tag.name in ("svg", "math"):
            depth += html[tag.end - 2] != "/"
        elif tag.name in ("/svg", "/math"):
            depth -= depth > 0
        elif depth and html.startswith(CDATA, tag.start):
            end = html.find("]]>", tag.start)
            end = len(html) if end < 0 else end
            parts += [html[at : tag.start], escape(html[tag.start + len(CDATA) : end])]
            at = end + 3
    return "".join([*parts, html[at:]])
