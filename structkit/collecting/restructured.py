"""reStructuredText to pages and sections, by the titles that docutils finds.

Tests: tests/collecting/test_restructured.py.
"""

import re
import unicodedata
from functools import cached_property

from structkit.collecting.naming import UniqueNames
from structkit.collecting.pages import Heading, Page

ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*$")  # a line of one mark
MIN_ADORNMENT = 4  # marks that are enough under a longer title
# what begins a line that is no title: explicit markup, items of lists, fields, quoted lines
NO_TITLE = re.compile(r"(?:\.\.|[-*+•‣⁃]|>>>|:[^:\s][^:]*:)(?:\s|$)")
ROLE = re.compile(
    r"""
      (?<![\w.+:-]) :[\w.+:-]+: (?=`)   # a role before its text
    | (?<=`) __? (?!\w)                  # a reference
    | (?<!\s) \s*+ <[^<>`]*> (?=`)       # its target
    """,
    re.X,
)
MARKUP_SIGNS = re.compile(r"[`*|]|\\(?=\S)")
# how docutils makes an id of a title (its `make_id`): letters that do not decompose, the signs that
# become a hyphen, and what an id cannot begin or end with
LETTERS = str.maketrans("øđħıłŧƀƃƈƌƒƙƚƞƥƫƭƴƶǥȥȴȵȶȷȼȿɀɇɉɋɍɏ", "odhiltbbcdfklnpttyzgzlntjcszejqry")
DIGRAPHS = str.maketrans({"ß": "sz", "æ": "ae", "œ": "oe", "ȸ": "db", "ȹ": "qp"})
NOT_IN_ID = re.compile(r"[^a-z0-9]+")
ID_ENDS = re.compile(r"^[-0-9]+|-+$")


def docutils_id(title: str) -> str:
    """Return the id of a title before repeated ones are numbered; empty if no letter can begin it.

    >>> docutils_id("2.0 Straße & Ærø"), docutils_id("1.2.3")
    ('strasze-aero', '')
    """
    text = title.lower().translate(DIGRAPHS).translate(LETTERS)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return ID_ENDS.sub("", NOT_IN_ID.sub("-", " ".join(text.split())))


class Restructured(Page):
    """A document in reStructuredText; its text keeps all marks."""

    @cached_property
    def headings(self) -> list[Heading]:
        """The titles with their levels, by the order in which their styles appear."""
        styles: list[tuple[str, bool]] = []
        anchors = UniqueNames("-", 1)
        found: list[Heading] = []
        below = 0  # the line after the last title
        for row in range(1, len(self.lines)):
            line, title = self.lines[row].rstrip(), self.lines[row - 1].rstrip()
            mark = ADORNMENT.match(line)
            if not mark or row - 1 < below or not title.strip():
                continue
            if len(title) >= MIN_ADORNMENT and ADORNMENT.match(title):
                continue
            before = self.lines[row - 2].rstrip() if row - 2 >= below else ""
            over = before == line
            other = before or title[0].isspace() or NO_TITLE.match(title)
            if not over and (other or len(line) < min(MIN_ADORNMENT, len(title))):
                continue
            style = mark[1], over
            if style not in styles:
                styles.append(style)
            text = " ".join(MARKUP_SIGNS.sub("", ROLE.sub("", title)).split())
            base = docutils_id(text)
            anchor = anchors.take(base) if base else anchors.take_numbered("section")
            found.append(Heading(styles.index(style) + 1, text, row - 1 - over, anchor))
            below = row + 1
        return found
