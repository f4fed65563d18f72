"""Markup in texts: where tags, comments and scripts are; repairs before parsing; references."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

from structkit.structure.spans import Span

SILENT = frozenset(("script", "style", "iframe", "noembed", "noframes", "xmp"))
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
RARE = re.compile("</(?:P|br|BR)>")


class Tag(NamedTuple):
    """One piece of markup; `name` is `p`, `/p`, or nothing for a comment or a script's content."""

    name: str
    start: int
    end: int


def visible_text(text: str) -> str:
    """The text with every character of its markup made a space: all the rest stays where it is.

    Markup is tags, comments, the content of scripts and styles, and character references; a
    reference to a letter becomes underscores, so that its word is not taken for a shorter one.

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
    """Where the content of the first element of that name is.

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
    """Every tag, comment and declaration, as a browser's tokenizer tells them from text.

    Source: the HTML standard, section 13.2.5. A tag that never ends takes the rest of the text.
    With `closing`, `<script/>` has no content, as libxml2 and XHTML read it.

    >>> [tag.name for tag in tags("1 < 2 <b title='>'>x</b><!-- <i> --><script>'<p>'</script>")]
    ['b', '/b', '', 'script', '', '/script']
    """
    at = 0
    while match := MARKUP.search(text, at):
        at, name = match.end(), (match[1] or "").lower()
        yield Tag(name, match.start(), at)
        if name in RAW and not (closing and text[at - 2] == "/"):
            end_tag = re.compile(f"</{name}[ \\t\\n\\f\\r/>]", re.A | re.I).search(text, at)
            end = end_tag.start() if end_tag else len(text)
            if name in SILENT and end > at:
                yield Tag("", at, end)
            at = end


def repair(html: str) -> str:
    """The text changed so that libxml2 reads it as the HTML standard says.

    Line ends become one character, null characters go. An end tag `</p>` or `</br>` separates
    words also where no such element is open. CDATA sections in SVG and MathML become text.
    """
    html = html.lstrip(BOM)
    if "\0" in html:
        html = html.replace("\0", "")
    if "\r" in html:
        html = html.replace("\r\n", "\n").replace("\r", "\n")
    if CDATA in html:
        html = _without_sections(html)
    html = html.replace("</p>", "</p> ")
    if RARE.search(html):
        html = html.replace("</P>", "</P> ").replace("</br>", "<br>").replace("</BR>", "<br>")
    return html


def _without_sections(html: str) -> str:
    """The text with its CDATA sections in SVG and MathML as text."""
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


def escape(text: str) -> str:
    """The text with references for the three characters that mean markup.

    >>> escape("1 < 2 &amp; 3 > 2")
    '1 &lt; 2 &amp;amp; 3 &gt; 2'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
