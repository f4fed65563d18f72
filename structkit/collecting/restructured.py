"""reStructuredText to pages and sections, by the titles that docutils finds.

Tests: tests/collecting/test_restructured.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from structkit.collecting.pages import Heading, MarkdownPage
from structkit.records.jsonl import Record

ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*$")  # a line of one mark
MIN_ADORNMENT = 4  # marks that are enough under a longer title
# what begins a line that is no title: explicit markup, items of lists, fields, quoted lines
NO_TITLE = re.compile(r"(?:\.\.|[-*+•‣⁃]|>>>|:[^:\s][^:]*:)(?:\s|$)")
ROLE = re.compile(r":[\w.+:-]+:(?=`)|(?<=`)__?(?!\w)|\s*<[^<>`]*>(?=`)")
MARKUP_SIGNS = re.compile(r"[`*|]|\\(?=\S)")
NOT_IN_ID = re.compile(r"[^a-z0-9]+")


class Restructured(MarkdownPage):
    """A document in reStructuredText; its text keeps all marks."""

    @cached_property
    def headings(self) -> list[Heading]:
        """The titles with their levels, by the order in which their styles appear."""
        styles: list[tuple[str, bool]] = []
        found: list[Heading] = []
        below = 0  # the line after the last title
        for row in range(1, len(self.lines)):
            line, title = self.lines[row].rstrip(), self.lines[row - 1].rstrip()
            mark = ADORNMENT.match(line)
            if not mark or row - 1 < below or not title.strip() or ADORNMENT.match(title):
                continue
            over = row - 2 >= below and self.lines[row - 2].rstrip() == line
            alone = row - 2 < below or not self.lines[row - 2].strip()
            other = title[0].isspace() or NO_TITLE.match(title)
            if not over and (not alone or other or len(line) < min(MIN_ADORNMENT, len(title))):
                continue
            style = mark[1], over
            if style not in styles:
                styles.append(style)
            text = " ".join(MARKUP_SIGNS.sub("", ROLE.sub("", title)).split())
            anchor = NOT_IN_ID.sub("-", text.lower()).strip("-")
            found.append(Heading(styles.index(style) + 1, text, row - 1 - over, anchor))
            below = row + 1
        return found

    @cached_property
    def _items(self) -> list[tuple[int, int, str]]:
        return []

    def rows(self) -> Iterator[tuple[str, Record]]:
        """Yield nothing: cells are not told apart."""
        return iter(())
