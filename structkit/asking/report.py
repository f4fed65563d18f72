"""A bug report as a question, taken apart into its words, names and quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from structkit.records.jsonl import Record
from structkit.searching.words import SEPARATOR

LONGEST = 6_000  # characters of code that are read
WIDEST = 2_000  # characters of a line that are read
FENCE = re.compile(r"\s*(?:```(?!.*```)|~~~)")
QUOTE = re.compile(r"\s{0,3}(?:> ?)+")
MARK = re.compile(r"\s{0,3}(?:#{1,6} |<!--)| {4,}\S|\t")
INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
TAG = re.compile(r"</?(?:details|summary|tt|pre|code|br|p|b|i|kbd|img|a)\b[^<>]*>", re.IGNORECASE)
LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|<?https?://\S+")
HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}\s+(.+?)[#\s]*|\*\*([^*]+)\*\*:?|__([^_]+)__:?|(\w[\w ]{2,40}):)\s*"
)
RULE = re.compile(r"\s*[-=_*~.]{3,}[-=_*~.\s]*")
# sections, and lines, that say where the fault was seen
PLACES = re.compile(
    r"\b(?:environment|versions?|platform|operating system|system info\w*|os|pip (?:list|freeze)|"
    r"screenshots?|checklist)\b",
    re.IGNORECASE,
)
SHORT = 5  # words of the heading of such a section
VERSION = re.compile(
    r"\s*(?:[-*]\s+)?[\w.+-]+(?: [\w.+-]+)?\s*(?:==|[:=@]|\s)\s*v?\d+(?:\.\w+)+\b.{0,60}"
)
TASK = re.compile(r"\s*[-*]\s+\[[ xX]\]\s")
PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|\$|In \[\d+\]:|Out\[\d+\]:|E  )\s?")
QUOTED = re.compile(r"(?<!`)`([^`\n]{1,80})`(?!`)")
# words of code: with an underscore, a hump or a dot inside, or called
NAME = re.compile(
    r"(?<![\w./@-])(?:--[a-z][\w-]+|[A-Za-z_]\w*(?:(?:\.|::|#|->|\\)[A-Za-z_]\w*)+|\w*[a-z0-9]_\w+|"
    r"_\w+|[a-z]+[A-Z]\w*|(?:[A-Z][a-z0-9]+){2,}\w*|[A-Z]{2,}_\w+|[A-Za-z_]\w*(?=\(\)))(?![\w@-])"
)
PATH = re.compile(
    r"(?<![\w@:])(?:[A-Za-z]:)?[\w.~<>$%+@/\\-]{0,200}\w\.[A-Za-z]{1,5}\b(?![\w./\\(])"
)
# a line of a file, as stack traces, compilers and test runners write it
LINE = re.compile(
    r"""(?P<path>(?:[A-Za-z]:)?[\w.~<>$%+@/\\-]{0,200}\w\.[A-Za-z]\w{0,4})
    (?:["']?,\ line\ |:line\ |:|\()(?P<line>\d{1,6})\b""",
    re.VERBOSE,
)
CELL = re.compile(
    r"(?P<path>[\w.~/\\:+-]{1,200}\.\w{1,5})\S* in (?P<function>[\w.<>]+)\("
)  # IPython
WITHIN = re.compile(r"\bin [`'\"]?([\w.:<>~#$]+)|\bat (?:async |new )?([\w.$<>:]+) ?\(")
PACKAGE = re.compile(r"(?:[a-z]\w*\.)+(?=[A-Z])")  # of a class of Java
INNERMOST_LAST = (".py", ".pyx", ".ipynb")  # Python's traces begin with the outermost call


def is_one(text: str) -> bool:
    """Return whether lines are one report, and not a question each.

    It has code, a heading, a comment or a stack trace; or paragraphs of sentences.
    """
    lines = [line[:WIDEST] for line in text.strip().splitlines()]
    if any(FENCE.match(line) or MARK.match(line) or LINE.search(line) for line in lines):
        return True
    blank, sentence = (
        "" in map(str.strip, lines),
        any(line.rstrip().endswith(".") for line in lines),
    )
    return blank and sentence


class Frame(NamedTuple):
    """A line of a file that a report mentions, 0 if it is not given, and the function it is in."""

    path: str
    line: int
    function: str

    def is_in(self, record: Record) -> bool:
        """Return whether a passage of its file has it, by function or else by line.

        In another version of the file the line is elsewhere.
        """
        own = SEPARATOR.split(self.function)[-1]
        if not own or own.startswith("<"):
            first, last = record["lines"]
            return bool(first <= self.line <= last)
        names = (SEPARATOR.split(name)[-1] for name in record.get("names", ()))
        return own in names or own in record.get("scope", "")


@dataclass(frozen=True)
class Report:
    """Contents of a report, without templates, versions and the like."""

    title: str
    prose: str
    code: str
    names: tuple[str, ...] = ()
    """Code in prose: in backticks, or unlike a word of a language."""
    frames: tuple[Frame, ...] = ()
    """Of stack traces, the innermost first."""
    paths: tuple[str, ...] = ()
    """Of files, written in prose."""

    @property
    def text(self) -> str:
        """All of its words, with code up to a limit: a log may be of any length."""
        return f"{self.title}\n{self.prose}\n{self.code[:LONGEST]}"

    @property
    def subject(self) -> str:
        """Its subject in few words, which choose the lines to show."""
        return f"{self.title} {self.named}".strip()

    @property
    def named(self) -> str:
        """Its names as a text."""
        return " ".join(self.names)

    @classmethod
    def of(cls, text: str) -> Report:
        """Take a text apart, line by line."""
        parts = _Parts()
        text = TAG.sub(" ", COMMENT.sub("\n", text.removeprefix("\ufeff")))
        for line in text.expandtabs(4).splitlines():
            parts.add(line.rstrip()[:WIDEST])
        innermost_last = bool(parts.frames) and parts.frames[-1].path.endswith(INNERMOST_LAST)
        prose = LINK.sub(lambda link: link[1] or " ", "\n".join(parts.prose))
        quoted = [name for part in (parts.title, prose) for name in QUOTED.findall(part)]
        names = [*quoted, *NAME.findall(f"{parts.title}\n{prose}")]
        return cls(
            parts.title,
            prose,
            "\n".join(parts.code),
            tuple(dict.fromkeys(names)),
            tuple(parts.frames[::-1] if innermost_last else parts.frames),
            tuple(dict.fromkeys(PATH.findall(f"{parts.title}\n{prose}"))),
        )


class _Parts:
    """The parts of a report as its lines are read."""

    def __init__(self) -> None:
        self.title = ""
        self.prose: list[str] = []
        self.code: list[str] = []
        self.frames: list[Frame] = []
        self._fenced = self._skipped = False

    def add(self, line: str) -> None:
        """Add one line."""
        if FENCE.match(line):
            self._fenced = not self._fenced
            return
        line = line if self._fenced else QUOTE.sub("", line)
        if not line or RULE.fullmatch(line) or VERSION.fullmatch(line) or TASK.match(line):
            return
        if not self._fenced and (heading := HEADING.fullmatch(line)):
            self._head(next(filter(None, heading.groups())))
        elif not self._skipped:
            self._note(line)
            is_code = self._fenced or INDENTED.match(line) or PROMPT.match(line)
            if self.title or is_code:
                (self.code if is_code else self.prose).append(line)
            else:
                self.title = line.strip()

    def _head(self, heading: str) -> None:
        size = len(heading.split())
        if not self.title and size >= SHORT:
            self.title = heading
        else:
            self._skipped = size <= SHORT and bool(PLACES.search(heading))

    def _note(self, line: str) -> None:
        """Keep the place in a line of a stack trace."""
        if place := LINE.search(line) or CELL.search(line):
            found = WITHIN.search(line)
            function = next(filter(None, found.groups()), "") if found else ""
            package = PACKAGE.match(function) if "/" not in place["path"] else None
            path = package[0].replace(".", "/") + place["path"] if package else place["path"]
            self.frames.append(Frame(path, int(place.groupdict().get("line", 0)), function))
