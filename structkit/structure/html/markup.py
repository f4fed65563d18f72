"""Markup in texts: where tags, comments and scripts are; repairs before parsing; references.

Tests: tests/structure/html/test_html_laws.py.
"""

import html
import re
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from structkit.structure import Span
from structkit.structure.html.tags import HEADINGS, SEPARATING_ELEMENTS

SILENT_RAW = frozenset("script style iframe noembed noframes noscript".split())
# their content is text, a `<` in it included
PLAIN_RAW = frozenset(("title", "textarea", "plaintext", "xmp"))
RAW_ELEMENTS = SILENT_RAW | PLAIN_RAW
FOREIGN_ELEMENTS = frozenset(("svg", "math"))  # in which CDATA sections are text
# elements whose start tag opens them in HTML, and which the parser takes as closed after `/>`
OPENED_BY_START = RAW_ELEMENTS | {"audio", "canvas", "datalist", "template", "video"}
# tags that change how the rest is read, a comment included
MODE_TAGS = RAW_ELEMENTS | OPENED_BY_START | FOREIGN_ELEMENTS | {"/template", "/svg", "/math", ""}
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
# the name of a tag, or an attribute (HTML standard, sections 13.2.5.8 and 13.2.5.32)
TAG_ATTRIBUTE = re.compile(
    r"""
    ([^ \t\n\f\r/>][^ \t\n\f\r/>=]*)
    (?:
        [ \t\n\f\r]*=[ \t\n\f\r]*                         # its value
        (?: "([^"]*)" | '([^']*)' | ([^ \t\n\f\r>]*) )
    )?
    """,
    re.VERBOSE,
)
XML_START = re.compile(r"\ufeff?\s*<\?xml\s")  # how XHTML begins
SHADOW_ROOT = re.compile(r"\sshadowrootmode\s*=\s*[\"']?(?:open|closed)\b", re.I)
CHARACTER_REFERENCE = re.compile(r"&#?\w+;?", re.ASCII)
BYTE_ORDER_MARK = "\ufeff"
CDATA_START = "<![CDATA["
PLACE_MARK = "\x02"  # of our comments; to the parser it is a character like any other
WORD_BREAK = "\u2028"  # white space where a tag separates words; in a text it is rare
INERT_ELEMENTS = ("template", "noscript")  # the parser takes their content for part of the document
# tags under another name, which the parser reads as it should
REPLACED_TAGS = {"/br": "<br>", "shadow-root": "<shadow-root>", "/shadow-root": "</shadow-root>"}
ONCE_PER_PAGE = frozenset(("html", "head", "body"))  # start tags that the parser drops
# an end tag, perhaps of a block, that neither a space nor a block's tag follows
_GLUED = rf"""</(?:[dfhlmnoptuvx] | a[rsdu] | b[lrou] | c[ae] | col | em | i[fmns] | s[euv])[^>]*+>
    (?=[^\s<] | <(?!!--{PLACE_MARK} | /?(?:{"|".join(sorted(SEPARATING_ELEMENTS))})[\s/>]))"""
NAME_IN_TAG = re.compile(r"[^\s/<>]+")
# markup that libxml2 does not read as the standard says, except end tags that it drops
_RARE = rf"""<(?:
      h([1-6])[\s>] (?:[^<]++ | <(?!/?h[1-6]))*+ </h(?!\1)    # another one's end tag ends a heading
    | (?:html | head | body)[\s>] (?<=[^\s>]<.....)           # a start tag after text
    | /br[\s/>]
    | template[\s/>]
    | t(itle | extarea)\b[^>]*> [^<]*+ <(?!/t\2)              # a tag in a text hides an end tag
    | noscript\b[^>]*>                                       # with an element that is not closed
      (?!(?:[^<] | <(?:img | link | meta)\b[^>]*> | <(\w+)\b[^>]*>[^<]*</\3>)*+</noscript)
    | xmp\b
    | !\[CDATA
    | (?:{"|".join(sorted(OPENED_BY_START))})\b[^>]*/>        # a start tag that looks closed
    | /?[a-z][^<>"']*+<                                      # a tag with another one's sign in it
    )"""
# for small letters, and for any: the first are faster, and capitals are rare
GLUED, RARE = ([re.compile(each, re.X), re.compile(each, re.X | re.I)] for each in (_GLUED, _RARE))
CAPITAL = re.compile("</[A-Z]")
escape = partial(html.escape, quote=False)  # quotes are no markup in a text


class Tag(NamedTuple):
    """Tag, comment or script content; `name` is `p`, `/p`, or empty if it is no tag.

    `opened` is whether it opens its element although it ends with `/>`.
    """

    name: str
    start: int
    end: int
    opened: bool = False


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
        parts += [
            CHARACTER_REFERENCE.sub(_blank, text[at : tag.start]),
            " " * (tag.end - tag.start),
        ]
        at = tag.end
    return "".join([*parts, CHARACTER_REFERENCE.sub(_blank, text[at:])])


def _blank(match: re.Match[str]) -> str:
    decoded = html.unescape(match[0])
    if decoded == match[0]:
        return decoded
    return ("_" if any(map(str.isalnum, decoded)) else " ") * len(match[0])


def attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a start tag, decoded; of several with one name the first counts.

    >>> attributes('<a ID="x&amp;y" title="hidden id=z" download>')
    {'id': 'x&y', 'title': 'hidden id=z', 'download': ''}
    """
    found: dict[str, str] = {}
    for name, *values in TAG_ATTRIBUTE.findall(tag)[1:]:  # behind the name
        found.setdefault(name.lower(), html.unescape("".join(values)))
    return found


def element_content(tags: Iterable[Tag], name: str) -> Span | None:
    """Return the span of the content of the first element of that name that is in no drawing.

    >>> element_content(tags("<p>a <b>c</b></p>"), "b")
    (8, 9)
    """
    start = None
    drawings = 0
    for tag in tags:
        drawings += (tag.name == "svg") - (tag.name == "/svg" and drawings > 0)
        if start is None and tag.name == name and not drawings:
            start = tag.end
        elif start is not None and tag.name == f"/{name}":
            return start, tag.start
    return None if start is None else (start, sys.maxsize)


def tags(text: str, xml: bool = False) -> Iterator[Tag]:
    """Yield every tag, comment and declaration, as a browser's tokenizer reads them.

    Source: the HTML standard, section 13.2.5. A tag that never ends takes the rest of the text. The
    content of `<template>`, which is no part of the document, is one nameless tag, like the content
    of `<script>`; a shadow root is a part of it. A section of CDATA has its start for a name. With
    `xml`, in what begins as XML and in drawings an empty end tag follows `<script/>`.

    >>> [tag.name for tag in tags("1 < 2 <b title='>'>x</b><!-- <i> --><script>'<p>'</script>")]
    ['b', '/b', '', 'script', '', '/script']
    """
    xml = xml or XML_START.match(text) is not None
    at = inert = templates = shadows = foreign = 0
    while match := MARKUP.search(text, at):
        (start, at), name = match.span(), (match[1] or "").lower()
        empty = text[at - 2] == "/" and (xml or foreign or name in FOREIGN_ELEMENTS)
        opened = False
        if name in MODE_TAGS:
            if name == "/template" and templates:
                templates -= 1
                if not templates and start > inert:
                    yield Tag("", inert, start)
            elif name == "/template" and shadows:
                shadows -= 1
                name = "/shadow-root"
            elif name == "template" and not templates and SHADOW_ROOT.search(text, start, at):
                shadows += 1
                name = "shadow-root"
            elif (xml or foreign) and text.startswith(CDATA_START, start):
                end = text.find("]]>", start)
                name, at, empty = CDATA_START, end + 3 if end >= 0 else len(text), False
            elif name in FOREIGN_ELEMENTS:
                foreign += not empty
            elif name[1:] in FOREIGN_ELEMENTS:
                foreign -= foreign > 0
            opened = name in OPENED_BY_START and not empty and text[at - 2] == "/"
        if not templates:
            yield tuple.__new__(Tag, (name, start, at, opened))  # in half the time of `Tag(…)`
            inert = at
            if empty and name and name[0] != "/":
                yield Tag(f"/{name}", at, at)
        if empty or name not in MODE_TAGS:
            continue
        if name == "template":
            templates += 1
        elif name in RAW_ELEMENTS:
            end_tag = re.compile(f"</{name}[ \\t\\n\\f\\r/>]", re.A | re.I).search(text, at)
            end = end_tag.start() if end_tag else len(text)
            if name in SILENT_RAW and end > at and not templates:
                yield Tag("", at, end)
            at = end
    if templates and inert < len(text):
        yield Tag("", inert, len(text))


def repair(html: str) -> str:
    """Change the text so that libxml2 reads it as the HTML standard says.

    Line ends become one character, null characters go. The tag of a block separates words also
    where libxml2 drops it. CDATA sections of SVG, MathML and XHTML become text.
    """
    html = html.lstrip(BYTE_ORDER_MARK)
    if "\0" in html:
        html = html.replace("\0", "")
    if "\r" in html:
        html = html.replace("\r\n", "\n").replace("\r", "\n")
    capitals = CAPITAL.search(html) is not None
    if RARE[capitals].search(html):
        return "".join(_repaired(html))
    return GLUED[capitals].sub(_joint, html)


def _joint(tag: re.Match[str]) -> str:
    name = NAME_IN_TAG.search(tag[0])
    return tag[0] + WORD_BREAK if name and name[0].lower() in SEPARATING_ELEMENTS else tag[0]


def _repaired(html: str) -> Iterator[str]:
    """Yield a text in parts, with repaired tags, and without what is no part of the document."""
    at = 0
    heading = before = ""  # the heading that is open, the tag before
    for tag in tags(html):
        name = tag.name
        block = name.removeprefix("/") in SEPARATING_ELEMENTS
        if not name and before in INERT_ELEMENTS:
            yield html[at : tag.start]
            at = tag.end
        elif name in REPLACED_TAGS:
            yield html[at : tag.start] + REPLACED_TAGS[name]
            at = tag.end
        elif name == CDATA_START:
            section = html[tag.start + len(CDATA_START) : tag.end]
            yield html[at : tag.start] + escape(section.removesuffix("]]>"))
            at = tag.end
        elif name in HEADINGS:
            heading = name
        elif heading and name[1:] in HEADINGS:
            yield f"{html[at : tag.start]}</{heading}>{WORD_BREAK}"
            heading, at = "", tag.end
        elif block and (name[0] == "/" or name in ONCE_PER_PAGE):
            yield html[at : tag.end] + WORD_BREAK
            at = tag.end
        elif tag.opened:
            yield html[at : tag.end - 2]
            at = tag.end - 1
        before = name
    yield html[at:]
