"""HTML and Markdown to pages, sections, rows of tables, and sentences, each with its place.

Tests: tests/collecting/test_sections.py.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, takewhile
from typing import NamedTuple

from markdown_it.token import Token

from structkit.collecting.naming import UniqueNames, slug
from structkit.records.jsonl import Record
from structkit.structure import Span, lines_of
from structkit.structure.html.markdown import FrontMatter, markdown_tokens, render_markdown
from structkit.structure.html.markup import Tag, attributes, element_content
from structkit.structure.html.page_text import PageText
from structkit.structure.html.tables import HtmlTable, TableCell, TableRow, tables
from structkit.structure.html.tags import HEADINGS, SEPARATORS
from structkit.structure.html.xpaths import ParserTarget, walk
from structkit.structure.sentences import sentences

PERMALINK_SIGNS = " ¶#🔗\uf0c1"  # the link at the end of a heading that leads to it
# names of sections: before the first heading, and below one that gives no name
TOP_SECTION = "top"
UNNAMED_SECTION = "section"
MAX_GLOSSARY_DEPTH = 2  # lists in lists: methods of a class, but not their parameters
MAX_LISTED_CHARACTERS = 1_500  # of definitions; if a section has more, each becomes a record
MAX_HEADING_CHARACTERS = 500  # of the headings, or a caption, that each row of a table repeats
HEADING_TAG = re.compile("</?h[1-6]", re.I)
# of Markdown: the tokens whose content is seen, and the tag in one
VISIBLE_TOKENS = ("text", "code_inline", "image")
TAG_NAME = re.compile(r"</?([a-z][^\s/>]*)", re.I)
# … how an item of a list begins that explains a term or an option, and what marks this up
MARKED_TERM = r"(?:`[^`]+`|\*\*[^*]+\*\*|__[^_]+__)"
TERM = re.compile(rf"{MARKED_TERM}(?:(?:[\s,/|]|or\b)+{MARKED_TERM})*")
TERM_MARKUP = re.compile(r"[`*]|__")


@dataclass(frozen=True)
class Heading:
    """A heading: its level, its text, where it starts, its anchor."""

    level: int
    text: str
    start: int
    anchor: str


def paths_to(headings: list[Heading]) -> list[list[str]]:
    """Return for each heading the texts of the ones above it, and its own.

    >>> paths_to([Heading(1, "Tea", 0, ""), Heading(2, "a", 1, ""), Heading(2, "b", 2, "")])
    [['Tea'], ['Tea', 'a'], ['Tea', 'b']]
    """
    paths: list[list[str]] = []
    over: list[Heading] = []
    for heading in headings:
        while over and over[-1].level >= heading.level:
            over.pop()
        over.append(heading)
        paths.append([each.text for each in over])
    return paths


@dataclass
class GlossaryEntry:
    """Terms and their explanation: the number of its first tag, its places.

    `explained` is where the explanation starts; it is `end` if there is none.
    """

    number: int
    start: int
    end: int
    explained: int
    inner: list[GlossaryEntry] = field(default_factory=list)


def definitions(tags: Sequence[Tag], length: int) -> list[GlossaryEntry]:
    """Return the definitions of a document in order; a heading ends them.

    >>> from structkit.structure.html.markup import tags
    >>> page = "<dl><dt>-v<dt>--verbose<dd>Say more.<dt>-q<dd>Say less.</dl>"
    >>> [page[each.start : each.explained] for each in definitions(list(tags(page)), len(page))]
    ['<dt>-v<dt>--verbose', '<dt>-q']
    """
    found: list[GlossaryEntry] = []
    lists: list[GlossaryEntry | None] = []  # the open ones, and the last definition of each
    for number, tag in enumerate(tags):
        if not lists and tag.name != "dl":
            continue
        last = lists[-1] if lists else None
        if tag.name == "dl":
            lists.append(None)
        elif tag.name == "/dl" and lists:
            _end_entry(lists.pop(), tag.end)
        elif tag.name in HEADINGS:
            for each in lists:
                _end_entry(each, tag.start)
            lists.clear()
        elif tag.name == "dd" and last and last.explained == length:
            last.explained = tag.start
        elif tag.name == "dt" and 0 < len(lists) <= MAX_GLOSSARY_DEPTH:
            if last and last.explained == length:
                continue  # another term of the same
            _end_entry(last, tag.start)
            lists[-1] = new = GlossaryEntry(number, tag.start, length, length)
            outer = lists[-2] if len(lists) > 1 else None
            (outer.inner if outer else found).append(new)
    return found


def _end_entry(definition: GlossaryEntry | None, at: int) -> None:
    if definition:
        definition.end = at
        definition.explained = min(definition.explained, at)


def row_records(
    found: Iterable[HtmlTable], page: HtmlPage | MarkdownPage
) -> Iterator[tuple[str, Record]]:
    """Yield each row with data; its text is headings, caption, and cells by column."""
    paths = [[], *paths_to(page.headings)]
    starts = [heading.start for heading in page.headings]
    for number, table in enumerate(found, 1):
        heading = table.heading[:MAX_HEADING_CHARACTERS]
        for place, text in table.texts():
            row = table.rows[place - 1]
            path = paths[bisect_right(starts, row.start)]
            above = [" > ".join(path)[-MAX_HEADING_CHARACTERS:], heading]
            record: Record = {
                "lines": page.lines_of(row.start, row.end),
                "title": page.title,
                "headings": path,
                **({"xpath": row.xpath} if row.xpath else {}),
                "text": "\n".join(filter(None, [*above, text])),
            }
            yield f"t{number}r{place}", record


class SectionPart(NamedTuple):
    """A part of a section: its place, the headings and terms it is below, its definitions."""

    start: int
    end: int
    path: list[str]
    anchor: str
    inner: list[GlossaryEntry]


class HtmlPage:
    """HTML document; `xpaths` gives the elements of its sections, which takes most of the time."""

    def __init__(self, text: str, *, xpaths: bool = True, xml: bool = False) -> None:
        self.html, self.xpaths = text, xpaths
        self._text = PageText(text, xml)
        self._tags, self._between = self._text.tags, self._text.between

    def page(self) -> Record:
        """Return the whole document; its title is in its head, or its first heading."""
        return {
            "lines": [1, self.lines_of(0, len(self.html))[1]],
            "title": self.title,
            "headings": [each.text for each in self.headings],
            "html": self.html,
            "text": self._between(0, len(self.html)),
        }

    def sections(self) -> Iterator[tuple[str, Record]]:
        """Yield the part before the first heading, and the parts from each heading to the next.

        Many definitions in one section become sections of their own; no word is lost, so several
        parts of a section may lie before, between and behind them.
        """
        paths = paths_to(self.headings)
        starts = [heading.start for heading in self.headings]
        lists = definitions(self._tags, len(self.html))
        first = bisect_right(starts, self._body[0]) == 0 and self._body[0]
        if self._between(0, first) not in ("", self.title):
            first = 0
        whole = Heading(0, "", first, "")
        ends = [*starts, len(self.html)]
        for heading, path, end in zip([whole, *self.headings], [[], *paths], ends, strict=True):
            number = bisect_left(lists, heading.start, key=lambda each: each.start)
            inside = lists[number : bisect_left(lists, end, key=lambda each: each.start)]
            for part in self._split(SectionPart(heading.start, end, path, heading.anchor, inside)):
                text = self._between(part.start, part.end)
                if text:
                    record = self._record(part, text)
                    name = slug(part.path[-1]) if part.path else TOP_SECTION
                    yield part.anchor or name or UNNAMED_SECTION, record

    def _split(self, section: SectionPart) -> Iterator[SectionPart]:
        """Yield the parts of a section: its definitions, if they are long, and the rest."""
        waiting = [section]
        while waiting:
            part = waiting.pop()
            cuts = ((each.start, each.explained, each.end) for each in part.inner)
            size = sum(len(self._between(*place)) for each in cuts for place in pairwise(each))
            if size <= MAX_LISTED_CHARACTERS:
                yield part
                continue
            parts, at = [], part.start
            for each in part.inner:
                parts.append(part._replace(start=at, end=each.start, inner=[]))
                term = self._between(each.start, each.explained)
                path, anchor = [*part.path, term], self._term_anchor(each)
                parts.append(SectionPart(each.start, each.end, path, anchor, each.inner))
                at = each.end
            parts.append(part._replace(start=at, inner=[]))
            waiting += reversed(parts)

    def _term_anchor(self, definition: GlossaryEntry) -> str:
        last = bisect_left(self._tags, definition.explained, key=lambda tag: tag.start)
        return next(filter(None, map(self._anchor, self._tags[definition.number : last])), "")

    def rows(self) -> Iterator[tuple[str, Record]]:
        """Yield the rows of tables, without header rows."""
        found = tables(self.html, self._tags)
        elements = self._walked.starts("tr") if self.xpaths and found else {}
        for table in found:
            for cell in table.cells:
                cell.text = " ".join(filter(None, (self._between(*each) for each in cell.places)))
            for row in table.rows:
                if row.start in elements:
                    row.xpath = self._walked.xpath(elements[row.start])
        return row_records(found, self)

    def sentences(self) -> Iterator[Record]:
        """Yield the sentences of each paragraph, list item, cell …"""
        for part in self._walked.parts:
            text = self._between(part.start, part.end)
            lines = self.lines_of(part.start, part.end)
            for start, end in sentences(text):
                yield {"lines": lines, "xpath": part.xpath, "text": text[start:end]}

    @cached_property
    def title(self) -> str:
        """The title of the document, or its first heading; empty if it has neither."""
        span = element_content(self._tags, "title")
        return (span and self._between(*span)) or next((each.text for each in self.headings), "")

    @cached_property
    def headings(self) -> list[Heading]:
        """The headings with a text, in order."""
        either = HEADINGS | {f"/{name}" for name in HEADINGS}
        numbers = [n for n, tag in enumerate(self._tags) if tag.name in either]
        found = (
            self._heading(number, end)
            for number, end in pairwise([*numbers, len(self._tags)])
            if self._tags[number].name in HEADINGS and number not in self._text.unseen
        )
        return [heading for heading in found if heading.text]

    def _heading(self, number: int, end: int) -> Heading:
        """Return the heading between two tags, by their numbers."""
        tag = self._tags[number]
        last = self._tags[end].start if end < len(self._tags) else len(self.html)
        text = self._between(tag.start, last).rstrip(PERMALINK_SIGNS)
        inside = map(self._anchor, self._tags[number:end])
        anchor = next(filter(None, inside), "") or self._anchor_before(number)
        return Heading(int(tag.name[1]), text, tag.start, anchor)

    def _anchor_before(self, number: int) -> str:
        """Return the anchor of a section, or an empty element, that the heading begins."""
        at = self._tags[number].start
        for tag in reversed(self._tags[max(0, number - 4) : number]):
            if self.html[tag.end : at].strip():
                return ""
            if anchor := self._anchor(tag):
                return anchor
            at = tag.start
        return ""

    def _anchor(self, tag: Tag) -> str:
        if not tag.name or tag.name.startswith("/"):
            return ""
        found = attributes(self.html[tag.start : tag.end])
        return (found.get("id") or (tag.name == "a" and found.get("name")) or "").strip()

    @cached_property
    def _body(self) -> Span:
        """Where the tag of the body is: after it is the visible content."""
        return next(((tag.start, tag.end) for tag in self._tags if tag.name == "body"), (0, 0))

    @cached_property
    def _walked(self) -> ParserTarget:
        return walk(self._text)

    @cached_property
    def lines_of(self) -> Callable[[int, int], list[int]]:
        """Function from a part of the document to its first and last line, from 1."""
        return lines_of(self.html)

    def _record(self, part: SectionPart, text: str) -> Record:
        start = self._body[1] if part.start == self._body[0] else part.start
        piece = self.html[start : part.end]
        record: Record = {
            "lines": self.lines_of(start, part.end),
            "title": self.title,
            "headings": part.path,
        }
        start += len(piece) - len(piece.lstrip())
        if self.xpaths and (parts := self._walked.parts):
            at = bisect_right(parts, start, key=lambda part: part.end)
            record["xpath"] = parts[min(at, len(parts) - 1)].xpath
        record |= {"html": piece.lstrip(), "text": text}
        return record | ({"anchor": part.anchor} if part.anchor else {})


class MarkdownPage:
    """A document in Markdown; front matter at its top is not part of its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._front = FrontMatter.of(text)

    def page(self) -> Record:
        """Return the whole document; its title is in the front matter, or its first heading."""
        return {
            "lines": [1, len(self.text.rstrip().split("\n"))],
            "title": self.title,
            "headings": [heading.text for heading in self.headings],
            "text": self.text,
        }

    def sections(self) -> Iterator[tuple[str, Record]]:
        """Yield the part before the first heading, and the parts from each heading to the next.

        Many items of lists that explain a term in code or bold become sections of their own.
        """
        whole = Heading(0, "", self._front.lines if self._front else 0, "")
        paths = [[], *paths_to(self.headings)]
        ends = [*(heading.start for heading in self.headings), len(self.lines)]
        for heading, path, end in zip([whole, *self.headings], paths, ends, strict=True):
            anchor = heading.anchor
            for first, last, term in self._split(heading.start, end):
                text = "\n".join(self.lines[first:last])
                if not text.strip():
                    continue
                first += len(text) - len(text.lstrip("\n"))
                record: Record = {
                    "lines": [first + 1, first + 1 + text.strip("\n").count("\n")],
                    "title": self.title,
                    "headings": [*path, term] if term else path,
                    "text": text.strip("\n"),
                }
                if anchor:
                    record["anchor"] = anchor
                name = slug(term) if term else anchor
                yield name or (UNNAMED_SECTION if path else TOP_SECTION), record

    def _split(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the lines of a section with their term: its items, if they are long, and others."""
        number = bisect_left(self._items, (start, 0, ""))
        inside = self._items[number : bisect_left(self._items, (end, 0, ""))]
        size = sum(len("\n".join(self.lines[first:last])) for first, last, _ in inside)
        for first, last, term in inside if size > MAX_LISTED_CHARACTERS else ():
            yield start, first, ""
            yield first, last, term
            start = last
        yield start, end, ""

    @cached_property
    def _items(self) -> list[tuple[int, int, str]]:
        """The lines of each item of a list that begins with a term, and the term."""
        found = []
        for token, _, inline in zip(self._tokens, self._tokens[1:], self._tokens[2:], strict=False):
            begins = token.type == "list_item_open" and token.level == 1
            if begins and inline.type == "inline" and (term := TERM.match(inline.content)):
                first, last = token.map or (0, 0)
                found.append((first, last, " ".join(TERM_MARKUP.sub("", term[0]).split())))
        return found

    def rows(self) -> Iterator[tuple[str, Record]]:
        """Yield the rows of tables, without header rows."""
        found: list[HtmlTable] = []
        for token, inner in pairwise(self._tokens):
            if token.type == "table_open":
                found.append(HtmlTable(TableCell(), []))
            elif token.type == "tr_open" and token.map:
                found[-1].rows.append(TableRow("", token.map[0], token.map[1], []))
            elif token.type in ("th_open", "td_open"):
                found[-1].rows[-1].cells.append(TableCell(_visible_text(inner), token.tag == "th"))
        return row_records(found, self)

    def lines_of(self, start: int, end: int) -> list[int]:
        """Return the first and the last of some lines, from 1; `start` and `end` are from 0."""
        return [start + 1, end]

    def sentences(self) -> Iterator[Record]:
        """Yield the sentences of paragraphs, headings, list items and cells, without markup."""
        rows = [0, 1]
        for token in self._tokens:
            rows = token.map or rows
            if token.type != "inline":
                continue
            text = _visible_text(token)
            for start, end in sentences(text):
                yield {"lines": [rows[0] + 1, max(rows)], "text": text[start:end]}

    @cached_property
    def title(self) -> str:
        """The title; empty if there is none."""
        if self._front and self._front.title:
            return self._front.title
        return next((heading.text for heading in self.headings), "")

    @cached_property
    def headings(self) -> list[Heading]:
        """The headings that are not in quotes or lists; each starts at a line, from 0.

        Their anchors are GitHub's, which numbers repeated ones, also those in quotes and lists.
        """
        headings: list[Heading] = []
        anchors = UniqueNames("-", 1)
        for number, token in enumerate(self._tokens):
            if token.type == "heading_open" and token.map:
                visible = _visible_text(self._tokens[number + 1])
                anchor = str(token.attrGet("id") or anchors.take(slug(visible)))
                text = " ".join(visible.split())
                if not token.level:
                    headings.append(Heading(int(token.tag[1]), text, token.map[0], anchor))
            elif token.type == "html_block" and token.map and not token.level:
                html = self._html_from(number)
                for heading in HtmlPage(html).headings:
                    row = token.map[0] + html.count("\n", 0, heading.start)
                    anchor = heading.anchor or anchors.take(slug(heading.text))
                    headings.append(replace(heading, start=row, anchor=anchor))
        return headings

    def _html_from(self, number: int) -> str:
        """Return a block of HTML; if a heading is open at its end, with the text of that."""
        html = self._tokens[number].content
        if (found := HEADING_TAG.findall(html)) and found[-1][1] != "/":
            behind = map(self._tokens.__getitem__, range(number + 1, len(self._tokens)))
            text = takewhile(lambda each: each.type not in ("html_block", "heading_open"), behind)
            html += render_markdown(list(text))
        return html

    @cached_property
    def _tokens(self) -> list[Token]:
        return markdown_tokens(self.text)


def _visible_text(inline: Token) -> str:
    """Return the visible text of inline tokens; words at two sides of a break stay apart."""
    return "".join(map(_token_text, inline.children or ()))


def _token_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "html_inline":
        tag = TAG_NAME.match(token.content)
        return " " if tag and tag[1].lower() in SEPARATORS else ""
    return token.content if token.type in VISIBLE_TOKENS else ""
