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
from operator import attrgetter
from typing import NamedTuple

from markdown_it.token import Token

from structkit.collecting.naming import UniqueNames, slug
from structkit.records.jsonl import Record
from structkit.structure import Span, lines_of
from structkit.structure.html.markdown import FrontMatter, markdown_tokens, render_markdown
from structkit.structure.html.markup import Tag, attributes, element_content
from structkit.structure.html.page_text import PageText
from structkit.structure.html.tables import HtmlTable, TableCell, TableRow, tables
from structkit.structure.html.tags import HEADINGS, SEPARATING_ELEMENTS
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
# Markdown's tokens with visible content, and the tag in one
VISIBLE_TOKENS = ("text", "code_inline", "image")
TAG_NAME = re.compile(r"</?([a-z][^\s/>]*)", re.I)
# … the term or option that an item of a list explains, and its markup
MARKED_TERM = r"(?:`[^`]+`|\*\*[^*]+\*\*|__[^_]+__)"
TERM = re.compile(rf"{MARKED_TERM}(?:(?:[\s,/|]|or\b)+{MARKED_TERM})*")
TERM_MARKUP = re.compile(r"[`*]|__")


BY_START = attrgetter("start")  # of what is in order


@dataclass(frozen=True)
class Heading:
    """A heading: its level, its text, where it starts, its anchor."""

    level: int
    text: str
    start: int
    anchor: str


@dataclass
class GlossaryEntry:
    """Terms and their explanation.

    `explained_at` is `end` if there is none. `term` is empty where it is the text before it.
    """

    start: int
    end: int
    explained_at: int
    term: str = ""
    inner: list[GlossaryEntry] = field(default_factory=list)


def definitions(tags: Sequence[Tag], length: int) -> list[GlossaryEntry]:
    """Return the definitions of a document in order; a heading ends them.

    >>> from structkit.structure.html.markup import tags
    >>> page = "<dl><dt>-v<dt>--verbose<dd>Say more.<dt>-q<dd>Say less.</dl>"
    >>> [page[each.start : each.explained_at] for each in definitions(list(tags(page)), len(page))]
    ['<dt>-v<dt>--verbose', '<dt>-q']
    """
    entries: list[GlossaryEntry] = []
    lists: list[GlossaryEntry | None] = []  # the open ones, and the last definition of each
    for tag in tags:
        if not lists and tag.name != "dl":
            continue
        last = lists[-1] if lists else None
        if tag.name == "dl":
            lists.append(None)
        elif tag.name == "/dl":
            _end_entry(lists.pop(), tag.end)
        elif tag.name in HEADINGS:
            for each in lists:
                _end_entry(each, tag.start)
            lists.clear()
        elif tag.name == "dd" and last and last.explained_at == length:
            last.explained_at = tag.start
        elif tag.name == "dt" and len(lists) <= MAX_GLOSSARY_DEPTH:
            if last and last.explained_at == length:
                continue  # another term of the same
            _end_entry(last, tag.start)
            lists[-1] = new = GlossaryEntry(tag.start, length, length)
            outer = lists[-2] if len(lists) > 1 else None
            (outer.inner if outer else entries).append(new)
    return entries


def _end_entry(definition: GlossaryEntry | None, at: int) -> None:
    if definition:
        definition.end = at
        definition.explained_at = min(definition.explained_at, at)


class SectionPart(NamedTuple):
    """A part of a section: its place, the headings and terms it is below, its definitions."""

    start: int
    end: int
    path: list[str]
    name: str  # in its id
    anchor: str
    inner: list[GlossaryEntry]


class Page:
    """A document with headings; its places are lines, or what a subclass counts."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.lines = text.split("\n")
        self._front = FrontMatter.of(text)

    def page(self) -> Record:
        """Return the whole document; its title is declared, or its first heading."""
        return {
            "lines": [1, 1 + self.source.rstrip().count("\n")],
            "title": self.title,
            "headings": [heading.text for heading in self.headings],
            **self._page_content(),
        }

    def sections(self) -> Iterator[tuple[str, Record]]:
        """Yield the part before the first heading, and the parts from each heading to the next.

        Many definitions in one section become sections of their own; no word is lost, so several
        parts of a section may lie before, between and behind them.
        """
        first, end = self._extent
        headings = [Heading(0, "", first, ""), *self.headings]
        starts = [*(heading.start for heading in headings), end]
        entry_numbers = [bisect_left(self._glossary, start, key=BY_START) for start in starts]
        for heading, path, span, entries in zip(
            headings, self._paths, pairwise(starts), pairwise(entry_numbers), strict=True
        ):
            name = heading.anchor or (slug(path[-1]) if path else TOP_SECTION)
            inside = self._glossary[slice(*entries)]
            for part in self._split(SectionPart(*span, path, name, heading.anchor, inside)):
                text = self._between(part.start, part.end)
                if text.strip():
                    lines, content = self._part_content(part, text)
                    anchor = {"anchor": part.anchor} if part.anchor else {}
                    record = {"lines": lines, "title": self.title, "headings": part.path}
                    yield part.name or UNNAMED_SECTION, {**record, **content, **anchor}

    def _split(self, section: SectionPart) -> Iterator[SectionPart]:
        """Yield the parts of a section: its definitions, if they are long, and the rest."""
        bounds = ((entry.start, entry.explained_at, entry.end) for entry in section.inner)
        size = sum(len(self._between(*span)) for entry in bounds for span in pairwise(entry))
        if size <= MAX_LISTED_CHARACTERS:
            yield section
            return
        at = section.start
        for entry in section.inner:
            yield section._replace(start=at, end=entry.start, inner=[])
            yield from self._split(self._definition(section, entry))  # MAX_GLOSSARY_DEPTH deep
            at = entry.end
        yield section._replace(start=at, inner=[])

    def rows(self) -> Iterator[tuple[str, Record]]:
        """Yield the rows of tables, without header rows; a text is headings, caption and cells."""
        for number, table in enumerate(self._tables(), 1):
            heading = table.heading[:MAX_HEADING_CHARACTERS]
            for row_number, text in table.texts():
                row = table.rows[row_number - 1]
                number_above = bisect_right(self.headings, row.start, key=BY_START)
                path = self._paths[number_above]
                above = [" > ".join(path)[-MAX_HEADING_CHARACTERS:], heading]
                record: Record = {
                    "lines": self.lines_of(row.start, row.end),
                    "title": self.title,
                    "headings": path,
                    **({"xpath": row.xpath} if row.xpath else {}),
                    "text": "\n".join(filter(None, [*above, text])),
                }
                yield f"t{number}r{row_number}", record

    def sentences(self) -> Iterator[Record]:
        """Yield the sentences of the text, or of each paragraph, list item, cell …"""
        lines = lines_of(self.source)
        for start, end in sentences(self.source):
            text = " ".join(self.source[start:end].split())
            yield {"lines": lines(start, end), "text": text}

    @cached_property
    def title(self) -> str:
        """The title, declared or the first heading; empty if there is neither."""
        return self._declared_title() or next((each.text for each in self.headings), "")

    @cached_property
    def headings(self) -> list[Heading]:
        """The headings in order."""
        return []

    @property
    def _glossary(self) -> list[GlossaryEntry]:
        """The definitions in order."""
        return []

    @cached_property
    def _paths(self) -> list[list[str]]:
        """For each heading the texts of those above it and its own; first, none for the top."""
        paths: list[list[str]] = [[]]
        above: list[Heading] = []
        for heading in self.headings:
            while above and above[-1].level >= heading.level:
                above.pop()
            above.append(heading)
            paths.append([each.text for each in above])
        return paths

    def _tables(self) -> Iterable[HtmlTable]:
        """Return the tables in order."""
        return []

    def _declared_title(self) -> str:
        """Return the title, if one is declared."""
        return self._front.title if self._front else ""

    @property
    def _extent(self) -> Span:
        """The place of the document, without front matter."""
        return self._front.lines if self._front else 0, len(self.lines)

    @cached_property
    def lines_of(self) -> Callable[[int, int], list[int]]:
        """Function from a place to its first and last line, from 1."""
        return lambda start, end: [start + 1, end]

    def _between(self, start: int, end: int) -> str:
        """Return the text of a place."""
        return "\n".join(self.lines[start:end])

    def _page_content(self) -> Record:
        """Return the fields of the page with its content."""
        return {"text": self.source}

    def _part_content(self, part: SectionPart, text: str) -> tuple[list[int], Record]:
        """Return the lines of a part of a section, and its fields with its content."""
        first = part.start + 1 + len(text) - len(text.lstrip("\n"))
        text = text.strip("\n")
        return [first, first + text.count("\n")], {"text": text}

    def _definition(self, around: SectionPart, entry: GlossaryEntry) -> SectionPart:
        """Return a definition in a part of a section."""
        path, name = [*around.path, entry.term], slug(entry.term)
        return SectionPart(entry.start, entry.end, path, name, around.anchor, [])


class HtmlPage(Page):
    """HTML document; `xpaths` gives the elements of its sections, which takes most of the time."""

    def __init__(self, text: str, *, xpaths: bool = True, xml: bool = False) -> None:
        self.source, self.xpaths = text, xpaths
        self._text = PageText(text, xml)
        self._tags = self._text.tags

    @cached_property
    def lines_of(self) -> Callable[[int, int], list[int]]:
        """Function from a part of the document to its first and last line, from 1."""
        return lines_of(self.source)

    def _between(self, start: int, end: int) -> str:
        return self._text.between(start, end)

    def _page_content(self) -> Record:
        return {"html": self.source, "text": self._between(0, len(self.source))}

    @cached_property
    def _extent(self) -> Span:
        """From behind the tag of the body, if only the title stands before it."""
        start = next((tag.end for tag in self._tags if tag.name == "body"), 0)
        is_above = not self.headings or start <= self.headings[0].start
        if not is_above or self._between(0, start) not in ("", self.title):
            start = 0
        return start, len(self.source)

    @cached_property
    def _glossary(self) -> list[GlossaryEntry]:
        return definitions(self._tags, len(self.source))

    def _definition(self, around: SectionPart, entry: GlossaryEntry) -> SectionPart:
        term = self._between(entry.start, entry.explained_at)
        places = [
            bisect_left(self._tags, at, key=BY_START) for at in (entry.start, entry.explained_at)
        ]
        anchor = self._first_anchor(self._tags[slice(*places)])
        path = [*around.path, term]
        return SectionPart(entry.start, entry.end, path, anchor or slug(term), anchor, entry.inner)

    def _part_content(self, part: SectionPart, text: str) -> tuple[list[int], Record]:
        html = self.source[part.start : part.end].lstrip()
        start = part.end - len(html)
        record: Record = {}
        if self.xpaths and (parts := self._walked.parts):
            at = bisect_right(parts, start, key=lambda part: part.end)
            record["xpath"] = parts[min(at, len(parts) - 1)].xpath
        return self.lines_of(start, part.end), {**record, "html": html, "text": text}

    def _tables(self) -> list[HtmlTable]:
        found = tables(self.source, self._tags)
        elements = self._walked.starts("tr") if self.xpaths and found else {}
        for table in found:
            for cell in table.cells:
                cell.text = " ".join(filter(None, (self._between(*each) for each in cell.places)))
            for row in table.rows:
                if row.start in elements:
                    row.xpath = self._walked.xpath(elements[row.start])
        return found

    def sentences(self) -> Iterator[Record]:
        """Yield the sentences of each paragraph, list item, cell …"""
        for part in self._walked.parts:
            text = self._between(part.start, part.end)
            lines = self.lines_of(part.start, part.end)
            for start, end in sentences(text):
                yield {"lines": lines, "xpath": part.xpath, "text": text[start:end]}

    def _declared_title(self) -> str:
        span = element_content(self._tags, "title")
        return self._between(*span) if span else ""

    @cached_property
    def headings(self) -> list[Heading]:
        """The headings with a text, in order."""
        heading_tags = HEADINGS | {f"/{name}" for name in HEADINGS}
        numbers = [number for number, tag in enumerate(self._tags) if tag.name in heading_tags]
        headings: list[Heading] = []
        for number, next_number in pairwise([*numbers, len(self._tags)]):
            tag = self._tags[number]
            if tag.name not in HEADINGS or number in self._text.unseen:
                continue
            is_last = next_number == len(self._tags)
            end = len(self.source) if is_last else self._tags[next_number].start
            if text := self._between(tag.start, end).rstrip(PERMALINK_SIGNS):
                inside = self._tags[number:next_number]
                anchor = self._first_anchor(inside) or self._anchor_before(number)
                headings.append(Heading(int(tag.name[1]), text, tag.start, anchor))
        return headings

    def _anchor_before(self, number: int) -> str:
        """Return the anchor right before a heading: of its section, or of an empty element."""
        at = self._tags[number].start
        for tag in reversed(self._tags[max(0, number - 4) : number]):
            if self.source[tag.end : at].strip():
                return ""
            if anchor := self._anchor(tag):
                return anchor
            at = tag.start
        return ""

    def _first_anchor(self, tags: Iterable[Tag]) -> str:
        return next(filter(None, map(self._anchor, tags)), "")

    def _anchor(self, tag: Tag) -> str:
        if not tag.name or tag.name.startswith("/"):
            return ""
        found = attributes(self.source[tag.start : tag.end])
        return (found.get("id") or (tag.name == "a" and found.get("name")) or "").strip()

    @cached_property
    def _walked(self) -> ParserTarget:
        return walk(self._text)


class MarkdownPage(Page):
    """A document in Markdown; front matter at its top is not part of its text."""

    @cached_property
    def _glossary(self) -> list[GlossaryEntry]:
        """The items of lists that begin with a term."""
        found = []
        for token, _, inline in zip(self._tokens, self._tokens[1:], self._tokens[2:], strict=False):
            begins = token.type == "list_item_open" and token.level == 1
            if begins and inline.type == "inline" and (term := TERM.match(inline.content)):
                first, last = token.map or (0, 0)
                text = " ".join(TERM_MARKUP.sub("", term[0]).split())
                found.append(GlossaryEntry(first, last, last, text))
        return found

    def _tables(self) -> Iterable[HtmlTable]:
        found: list[HtmlTable] = []
        for token, inner in pairwise(self._tokens):
            if token.type == "table_open":
                found.append(HtmlTable(TableCell(), []))
            elif token.type == "tr_open" and token.map:
                found[-1].rows.append(TableRow(token.map[0], token.map[1], []))
            elif token.type in ("th_open", "td_open"):
                found[-1].rows[-1].cells.append(TableCell(_visible_text(inner), token.tag == "th"))
        return found

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
        return markdown_tokens(self.source)


def _visible_text(inline: Token) -> str:
    """Return the visible text of inline tokens; words at two sides of a break stay apart."""
    return "".join(map(_token_text, inline.children or ()))


def _token_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "html_inline":
        tag = TAG_NAME.match(token.content)
        return " " if tag and tag[1].lower() in SEPARATING_ELEMENTS else ""
    return token.content if token.type in VISIBLE_TOKENS else ""
