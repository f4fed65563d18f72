"""HTML in texts: repairs of what would mislead a parser, and character references."""

from __future__ import annotations

import re
from collections.abc import Mapping

from structkit.structure.html.markup import tags

BOM = "\ufeff"
CDATA = "<![CDATA["
RARE = re.compile("</(?:P|br|BR)>")


def repaired(html: str) -> str:
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


def with_attributes(name: str, attributes: Mapping[str, str]) -> str:
    """A start tag with those of its attributes that have a plain name.

    >>> with_attributes("a", {"href": "?a=1&b=2", "x<y": ""})
    '<a href="?a=1&amp;b=2">'
    """
    parts = [name]
    for key, value in attributes.items():
        if key.replace("-", "").replace("_", "").replace(":", "").isalnum():
            text = escape(value).replace('"', "&quot;")
            parts.append(f'{key}="{text}"')
    return f"<{' '.join(parts)}>"
