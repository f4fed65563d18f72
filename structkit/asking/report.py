"""A bug report as a question: its words, names and quotes, and the places that it is about.

BLUiR (Saha et al., ASE 2013) searches parts of a report apart; BRTracer (Wong et al., ICSME 2014)
adds the files of its stack traces, the innermost first. Here the best passage of a file for each
part counts, also where these are several passages.

Tests: tests/asking/test_report.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from structkit.asking.folder import Folder
from structkit.embeddings.vectors import Floats
from structkit.ranking.reranking import Candidate, Query, Weights
from structkit.records.jsonl import Record
from structkit.searching.hits import Hit
from structkit.searching.words import SEPARATOR, words

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

# weights beside 1 of all the words of a report: chosen on 51 reports of six projects, where half or
# double of each finds as many files; leaving a project out chooses about the same
TITLE, NAMES, DEFINED, MENTIONED, FRAME = 0.75, 0.75, 0.25, 0.25, 1.0
KINDS = 2.0  # tests, examples, copies: a report resembles them, and is seldom about them
NEXT = 0.75  # each further passage of a file counts so much of the one before
FILES = 50  # whose definitions are compared with the names
ABSOLUTE = ("/", "~", "\\")
SLASH = re.compile(r"[/\\]+")


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


def localize(folder: Folder, report: Report, k: int, chosen: Floats) -> list[tuple[Hit, Record]]:
    """Return the k best passages with words of a report, and their records, best first.

    `chosen` is the mask of passages that may answer, (passages,).
    """
    passages, files = by_words(folder, report, chosen)
    named, traced = by_paths(report, [each.path for each in folder.files])
    files += named
    starts = np.searchsorted(folder.numbers, np.arange(len(files) + 1)).tolist()
    best = np.argsort(-files, kind="stable")[: max(FILES, k)].tolist()
    some = {file: range(starts[file], starts[file + 1]) for file in best}
    records = folder.records(number for numbers in some.values() for number in numbers)
    files[best] += DEFINED * defined(report.names, [[records[n] for n in some[f]] for f in best])
    for file, frame, share in traced:
        for number in some.get(file, ()):
            passages[number] += share * chosen[number] * frame.is_in(records[number])
    found: list[tuple[Hit, Record]] = []
    for file, numbers in some.items():
        ordered = sorted((n for n in numbers if passages[n] > 0), key=lambda n: -passages[n])
        for place, number in enumerate(ordered):
            score = float(files[file]) * (NEXT**place if files[file] > 0 else 1.0)
            found.append((Hit(records[number]["id"], score), records[number]))
    return sorted(found, key=lambda each: -each[0].score)[:k]


def by_words(folder: Folder, report: Report, chosen: Floats) -> tuple[Floats, Floats]:
    """Score passages (passages,) and files (files,) by the words of a report's parts."""
    passages, files = np.zeros(len(folder)), np.zeros(len(folder.files))
    firsts = np.flatnonzero(np.diff(folder.numbers, prepend=-1))
    for text, weight in ((report.text, 1.0), (report.title, TITLE), (report.named, NAMES)):
        asked = {word: 1 + math.log(count) for word, count in Counter(words(text)).items()}
        scores = folder.words.scores(asked) * chosen
        if most := scores.max(initial=0.0):
            scores *= weight / most
            passages += scores
            files += np.maximum.reduceat(scores, firsts)
    return passages, files


def by_paths(report: Report, paths: Sequence[str]) -> tuple[Floats, list[tuple[int, Frame, float]]]:
    """Score files by their paths and a report's paths, (files,).

    And the file of each frame of a trace that has one, with its share: 1 for the innermost file.
    """
    ((kinds, _),) = Weights({"path-kinds": None}).ranking().rankers
    # of a test that is named, but not of the word; of a system by the word
    system = ["windows"] * ("windows" in report.text.lower())
    asked = Query("", " ".join([*(each for each in report.names if each in report.title), *system]))
    scores = KINDS * kinds.scores(asked, [Candidate(each, 0, {"path": each}) for each in paths])
    names = defaultdict[str, list[int]](list)
    for number, path in enumerate(paths):
        names[PurePosixPath(path).name.lower()].append(number)
    for number in {number for path in report.paths for number in files_of(path, paths, names)}:
        scores[number] = max(scores[number], 0.0) + MENTIONED
    shares: dict[int, float] = {}
    traced: list[tuple[int, Frame, float]] = []
    for frame in report.frames:
        for number in files_of(frame.path, paths, names):
            if scores[number] >= 0:
                share = shares.setdefault(number, FRAME / (1 + len(shares)))
                traced.append((number, frame, share))
    scores[list(shares)] += list(shares.values())
    return scores, traced


def files_of(path: str, paths: Sequence[str], names: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the numbers of the files that a path, written elsewhere, may refer to.

    They share its last parts: at least the folder of an absolute path. `names` has the numbers by
    the names of files in lower case.

    >>> paths = ["src/net/pool.py", "tests/pool.py"]
    >>> files_of("/usr/lib/net/pool.py", paths, {"pool.py": [0, 1]})
    [0]
    >>> files_of("/usr/lib/thread/pool.py", paths, {"pool.py": [0, 1]})
    []
    """
    parts = [part for part in SLASH.split(path.lower()) if part not in ("", ".", "..")]
    same = names.get(parts[-1], ()) if parts else ()
    lengths = [shared(parts, paths[number].lower().split("/")) for number in same]
    longest = max(lengths, default=0)
    absolute = path.startswith(ABSOLUTE) or path[1:2] == ":"
    if longest < 2 and len(parts) > 1 and (absolute or len(same) > 1):
        return []
    return [number for number, length in zip(same, lengths, strict=True) if length == longest]


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of last parts that are the same."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def defined(names: Iterable[str], files: Sequence[Sequence[Record]]) -> Floats:
    """Return the number of names that each file defines, shared with other files, (files,)."""
    having = defaultdict[str, set[int]](set)
    for number, records in enumerate(files):
        for name in (name for record in records for name in record.get("names", ())):
            having[SEPARATOR.split(name)[-1]].add(number)
    scores = np.zeros(len(files))
    for own in dict.fromkeys(SEPARATOR.split(name.partition("(")[0])[-1] for name in names):
        for number in having[own]:
            scores[number] += 1 / len(having[own])
    return scores
