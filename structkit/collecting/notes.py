"""Markdown to pages, sections under headings, and sentences, each with its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from markdown_it.token import Token

from structkit.collecting.pages import TOP, Heading, paths_to, slug
from structkit.records.jsonl import Record
from structkit.structure.html.markdown import tokens
from structkit.structure.sentences import sentences

FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
TITLE = re.compile(r"^title[ \t]*:[ \t]*[\"']?(.*?)[\"']?[ \t]*$", re.M)
SEEN = ("text", "code_inline")


class Note:
    """A document in Markdown; front matter at its top is not part of its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self._front = FRONT.match(text)

    def page(self) -> Record:
        """The whole document; its title is that of the front matter, or its first heading."""
        headings = [heading.text for heading in self.headings]
        return {
            "lines": [1, len(self.text.rstrip().split("\n"))],
            "title": self.title,
            "headings": headings,
            "text": self.text,
        }

    def sections(self) -> Iterator[tuple[str, Record]]:
        """The part before the first heading, and the parts from each heading to the next."""
        starts = [heading.start for heading in self.headings]
        first = self._front[0].count("\n") if self._front else 0
        paths = [[], *paths_to(self.headings)]
        for number, (start, end) in enumerate(pairwise([first, *starts, len(self.lines)])):
            text = "\n".join(self.lines[start:end])
            if not text.strip():
                continue
            start += len(text) - len(text.lstrip("\n"))
            record: Record = {
                "lines": [start + 1, start + 1 + text.strip("\n").count("\n")],
                "title": self.title,
                "headings": paths[number],
                "text": text.strip("\n"),
            }
            if number == 0:
                yield TOP, record
                continue
            anchor = self.headings[number - 1].anchor
            yield anchor, {**record, "anchor": anchor}

    def sentences(self) -> Iterator[Record]:
        """The sentences of paragraphs, headings, list items and cells, without markup."""
        rows = [0, 1]
        for token in self._tokens:
            rows = token.map or rows
            if token.type != "inline":
                continue
            text = _shown(token)
            for start, end in sentences(text):
                yield {"lines": [rows[0] + 1, max(rows)], "text": text[start:end]}

    @cached_property
    def title(self) -> str:
        """The title; empty if there is none."""
        told = TITLE.search(self._front[1]) if self._front else None
        if told and told[1]:
            return told[1]
        return next((heading.text for heading in self.headings), "")

    @cached_property
    def headings(self) -> list[Heading]:
        """The headings that are not in quotes or lists; each starts at a line, from 0."""
        headings = []
        for token, inner in pairwise(self._tokens):
            if token.type == "heading_open" and token.level == 0 and token.map:
                text = " ".join(_shown(inner).split())
                headings.append(Heading(int(token.tag[1]), text, token.map[0], slug(text)))
        return headings

    @cached_property
    def _tokens(self) -> list[Token]:
        text = self.text
        if self._front:  # so that line numbers stay the same
            text = "\n" * self._front[0].count("\n") + text[self._front.end() :]
        return tokens(text)


def _shown(inline: Token) -> str:
    """The visible text of inline tokens."""
    parts = []
    for child in inline.children or ():
        if child.type in SEEN:
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(child.content)
    return "".join(parts)
