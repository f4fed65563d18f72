"""Ignore files as git reads them: gitignore(5), and its wildmatch byte by byte.

The last pattern that matches a file or a folder counts. Folders are matched on the way down, and
ignored folders are not searched.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from structkit.errors import UserError, flag, wrong_usage
from structkit.paths import open_found
from structkit.records.jsonl import cannot_read

IGNORE_FILES = (".gitignore", ".ignore")  # the later one counts
# at the root of a repository
GIT_FOLDER = ".git"
GIT_EXCLUDE = ".git/info/exclude"
MAX_IGNORE_BYTES = 1_000_000  # of an ignore file
MAX_WILDCARD_BYTES = 100_000  # of its patterns that need a regular expression
MAX_PATH_BYTES = 4096  # of a path that a system opens

NotePlace = Callable[[str], object]  # records the status of a path
FileFaults = dict[str, UserError]  # by path, why a file is not read

# a line without the spaces at its end; a space after a backslash stays
PATTERN_LINE = re.compile(rb"((?:\\.?|[^ \\]| +(?=[^ ]))*+).*", re.DOTALL)
WILDCARD = re.compile(rb"[*?[\\]")
# marks for stars in a regular expression, until `_expand_stars`; no pattern has a NUL
STAR = b"\0"  # `*`
ANY_FOLDERS = b"\0\0"  # `**/`
ANY_REST = b".*"  # `**` at the end
# stars, or a character after a backslash or none, or a backslash at the end
TOKEN = re.compile(rb"\*+|\\?.|\\", re.DOTALL)
# in a bracket: a class, or a character or range, each end with a backslash or without
BRACKET_ITEM = re.compile(rb"\[:([^]]*):\]|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^]\\])))?", re.DOTALL)
CHARACTER_CLASSES = dict(
    line.split()
    for line in rb"""
        alnum 0-9A-Za-z
        alpha A-Za-z
        blank \x20\t
        cntrl \x01-\x1f\x7f
        digit 0-9
        graph \x21-\x7e
        lower a-z
        print \x20-\x7e
        punct \x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e
        space \x20\t\n\r
        upper A-Z
        xdigit 0-9A-Fa-f
    """.strip().split(b"\n")
)


class Pattern(NamedTuple):
    """A pattern of an ignore file."""

    ignores: bool  # False if it starts with `!`
    folders_only: bool  # it ends with a slash, and matches folders only
    anchored: bool  # it holds another slash, and matches paths from the file's folder
    text: bytes  # without these signs
    regex: bytes = b""  # of a text with wildcards

    @classmethod
    def parse(cls, line: bytes) -> Pattern | None:
        r"""Return the pattern in a line; None for a comment, and for one that matches no path.

        >>> Pattern.parse(b"!/a*/")
        Pattern(ignores=False, folders_only=True, anchored=True, text=b'a*', regex=b'a[^/]*')
        >>> Pattern.parse(b"a[") is Pattern.parse(b"# a") is None
        True
        """
        if line.startswith(b"#"):
            return None
        line = line.removesuffix(b"\r").partition(b"\0")[0]
        text = PATTERN_LINE.sub(rb"\1", line, count=1)
        ignores = not text.startswith(b"!")
        text = text.removeprefix(b"!")
        folders = text.endswith(b"/")
        text = text.removesuffix(b"/")
        anchored = b"/" in text
        text = text.removeprefix(b"/")
        if not text:
            return None
        if not WILDCARD.search(text):
            return cls(ignores, folders, anchored, text)
        regex = _translate(text)
        return cls(ignores, folders, anchored, text, _expand_stars(regex)) if regex else None


def _translate(text: bytes) -> bytes:
    """Return the regular expression of a pattern, with marks for its stars.

    It is empty if a bracket is not closed, or a backslash is the last character.
    """
    regex, at = bytearray(), 0
    wildcard = WILDCARD.search(text)
    while token := TOKEN.match(text, at):
        start, at = token.span()
        if token[0].startswith(b"*"):
            # two stars count at the start of a name. Before version 2.52, git also takes `a**/b`
            # for `a` and `**/b`: it compares the text before the first wildcard alone
            is_first = wildcard and start == wildcard.start()
            begins_name = is_first or text.endswith(b"/", 0, start)
            is_double = len(token[0]) > 1 and begins_name
            if is_double and at == len(text):
                regex += ANY_REST
            elif is_double and text.startswith(b"/", at):
                regex += ANY_FOLDERS
                at += 1
            else:
                regex += STAR
        elif token[0] == b"?":
            regex += b"[^/]"
        elif token[0] == b"[":
            bracket, at = _bracket(text, at)
            if not bracket:
                return b""
            regex += bracket
        elif token[0] == b"\\":
            return b""
        else:
            regex += re.escape(token[0][-1:])  # without the backslash
    return bytes(regex)


def _bracket(text: bytes, at: int) -> tuple[bytes, int]:
    """Return the regular expression of the bracket that opens before a place, and its end.

    The expression is empty if git refuses the bracket.
    """
    regex = bytearray(b"(?!/)[")
    if text[at : at + 1] in (b"!", b"^"):
        regex += b"^"
        at += 1
    first = at
    while at == first or not text.startswith(b"]", at):  # as the first item, `]` is a character
        item = BRACKET_ITEM.match(text, at)
        if not item:
            return b"", at
        name, escaped_low, plain_low, escaped_high, plain_high = item.groups()
        if name is None:
            low, high = escaped_low or plain_low, escaped_high or plain_high or b""
            regex += b"\\x%02x" % ord(low)
            if low <= high:  # not empty, nor reversed, as in `z-a`
                regex += b"-\\x%02x" % ord(high)
        elif name in CHARACTER_CLASSES:
            regex += CHARACTER_CLASSES[name]
        else:
            return b"", at
        at = item.end()
    return bytes(regex) + b"]", at + 1


def _expand_stars(regex: bytes) -> bytes:
    """Return the regular expression with stars for their marks; its time is O(pattern times text).

    A star takes the shortest text before what follows it, and no other one: it is an atomic group.
    Only the last star of each kind may take more.
    """
    expanded, segments = b"", regex.split(ANY_FOLDERS)
    for number, segment in enumerate(segments, 1):
        start, *after_stars = segment.split(STAR)
        is_last = number == len(segments)
        last_star = b"[^/]*" + after_stars.pop() if after_stars and is_last else b""
        folders = b"(?:[^/]*+/)*?" if number > 1 else b""
        stars = b"".join(b"(?>[^/]*?%b)" % text for text in after_stars)
        piece = folders + start + stars + last_star
        expanded += piece if is_last else b"(?>%b)" % piece
    return expanded


class _PatternIndex:
    """Patterns by the number of their run (see `Patterns`), all to match with the same text."""

    def __init__(self, runs: Mapping[int, Sequence[Pattern]]) -> None:
        self.literals: dict[bytes, int] = {}
        self.wild: list[tuple[int, re.Pattern[bytes]]] = []
        for run, patterns in runs.items():
            self.literals |= {each.text: run for each in patterns if not each.regex}
            regexes = dict.fromkeys(each.regex for each in patterns if each.regex)
            if regexes:
                self.wild.insert(0, (run, re.compile(b"|".join(regexes), re.DOTALL)))

    def last_run(self, text: bytes) -> int:
        """Return the last run with a pattern that matches a text, from 1; 0 without one."""
        found = self.literals.get(text, 0)
        for run, regex in self.wild:
            if run <= found:
                break
            if regex.fullmatch(text):
                return run
        return found


class Patterns:
    """The patterns of a file in runs: adjacent patterns that all ignore, or all do not.

    >>> rules = Patterns.of([b"*.o", b"!b.o"])
    >>> [rules.ignores((b"a/", name, False)) for name in (b"a.o", b"b.o", b"a.c")]
    [True, False, None]
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.run_ignores: list[bool] = []  # of each run, whether it ignores
        # the patterns of each run, by `folders_only` and `anchored`
        runs_by_kind: defaultdict[tuple[bool, bool], defaultdict[int, list[Pattern]]]
        runs_by_kind = defaultdict(lambda: defaultdict(list))
        for run, (ignores, adjacent) in enumerate(groupby(patterns, attrgetter("ignores")), 1):
            self.run_ignores.append(ignores)
            for pattern in adjacent:
                runs_by_kind[pattern.folders_only, pattern.anchored][run].append(pattern)
        self.indexes = [
            (folders_only, anchored, _PatternIndex(runs))
            for (folders_only, anchored), runs in runs_by_kind.items()
        ]

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Patterns:
        """Parse the patterns in lines. Errors: `UserError` if matching them would take long."""
        patterns = [pattern for line in lines if (pattern := Pattern.parse(line))]
        if sum(len(each.text) for each in patterns if each.regex) > MAX_WILDCARD_BYTES:
            problem = f"more than {MAX_WILDCARD_BYTES:,} bytes of patterns with wildcards"
            raise UserError(problem, "shorten it")
        return cls(patterns)

    def ignores(self, *entries: tuple[bytes, bytes, bool]) -> bool | None:
        """Return whether the last pattern that matches an entry ignores it, or None.

        An entry is the path of its folder, its name, and whether it is a folder.
        """
        last = 0
        for prefix, name, is_folder in entries:
            for folders_only, anchored, index in self.indexes:
                if is_folder or not folders_only:
                    last = max(last, index.last_run(prefix + name if anchored else name))
        return self.run_ignores[last - 1] if last else None

    def selects(self, path: str) -> bool:
        """Return whether the last pattern that matches a file, or its folders, is not negated."""
        *folders, name = os.fsencode(path).split(b"/")
        parents = list(accumulate((each + b"/" for each in folders), initial=b""))
        entries = [(parent, folder, True) for parent, folder in zip(parents, folders, strict=False)]
        return self.ignores((parents[-1], name, False), *entries) is True

    @classmethod
    def read(cls, root: str, below: str) -> Patterns:
        """Read the patterns of a file. Errors: `OSError`; `UserError` if irregular."""
        with open_found(root, below) as handle:
            data = handle.read(MAX_IGNORE_BYTES + 1)
        if len(data) > MAX_IGNORE_BYTES:
            raise UserError(f"more than {MAX_IGNORE_BYTES:,} bytes", "shorten it")
        return cls.of(data.removeprefix(BOM_UTF8).split(b"\n"))


@dataclass(frozen=True)
class IgnoreRules:
    """Rules in a folder: each file's patterns, and the folder's path from that file.

    The innermost file with a match counts; its rules come first.
    """

    rules: tuple[tuple[Patterns, bytes], ...] = ()

    @classmethod
    def above(cls, folder: str, note: NotePlace) -> tuple[IgnoreRules, FileFaults]:
        """Return the rules of a folder from outside it, up to its repository's root.

        `note` records each place that decides this, before it is looked at.
        """
        places: list[str] = []  # from the outermost
        for place in (folder, *map(str, Path(folder).parents)):
            places.insert(0, place)
            for name in (GIT_FOLDER, *IGNORE_FILES):
                note(os.path.join(place, name))
            if os.path.lexists(os.path.join(place, GIT_FOLDER)):
                break
        else:  # there is no repository
            return cls(), {}
        ignoring, faults = cls(), FileFaults()
        names: Sequence[str] = (GIT_FOLDER, *IGNORE_FILES)
        for outer, inner in pairwise(places):
            ignoring, unread = ignoring.with_files(outer, "", names, note)
            faults |= {os.path.join(outer, name): error for name, error in unread.items()}
            ignoring = ignoring.in_subfolder(os.path.basename(inner))
            names = IGNORE_FILES  # only the outermost one has a `.git`
        return ignoring, faults

    def with_files(
        self, root: str, below: str, names: Collection[str], note: NotePlace
    ) -> tuple[IgnoreRules, FileFaults]:
        """Return these rules with those of a folder's files, and the unread files.

        `below` is the folder's path from `root`, with a slash at the end, and `names` are those in
        the folder. At the root of a repository only its own rules apply.
        """
        rules, faults = self.rules, FileFaults()
        files = {name: (root, below + name) for name in IGNORE_FILES if name in names}
        if GIT_FOLDER in names:
            rules = ()
            shared = common_folder(git_folder(os.path.join(root, below)))
            files = {GIT_EXCLUDE: (shared, "info/exclude"), **files}
        for name, place in files.items():
            note(os.path.join(*place))
            try:
                patterns = Patterns.read(*place)
            except FileNotFoundError:
                continue
            except (OSError, UserError) as error:
                cause = error if isinstance(error, UserError) else cannot_read(error)
                problem = f"the rules in {name} do not count: {cause.problem}"
                remedy = f"{cause.remedy}, or include everything with {flag('no_ignore')}"
                faults[name] = UserError(problem, remedy)
            else:
                rules = ((patterns, b""), *rules)
        return IgnoreRules(rules), faults

    def in_subfolder(self, name: str) -> IgnoreRules:
        """Return the same rules for a folder in this one."""
        folder = os.fsencode(name) + b"/"
        return IgnoreRules(tuple((patterns, prefix + folder) for patterns, prefix in self.rules))

    def hides(self, name: str, is_folder: bool) -> bool:
        """Return whether a file or folder with this name is ignored."""
        encoded = os.fsencode(name)
        for patterns, prefix in self.rules:
            ignores = patterns.ignores((prefix, encoded, is_folder))
            if ignores is not None:
                return ignores
        return False


def file_filter(globs: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a path matches patterns as in .gitignore.

    >>> is_chosen = file_filter(["*.py", "!test_*"])
    >>> [is_chosen(path) for path in ("src/a.py", "src/test_a.py", "a.go")]
    [True, False, False]
    """
    if all(each.startswith("!") for each in globs):
        globs = ("*", *globs)
    patterns = []
    for each in globs:
        pattern = Pattern.parse(os.fsencode(each))
        if not pattern:
            raise wrong_usage(f"{flag('glob', each)} matches no path", "write it as in .gitignore")
        patterns.append(pattern)
    return Patterns(patterns).selects


def git_folder(root: str) -> str:
    """Return git's folder of a working tree: `.git`, or what this names if it is a file.

    The folder may not exist.
    """
    folder = os.path.join(root, GIT_FOLDER)
    if os.path.isdir(folder):
        return folder
    return os.path.join(root, _first_line(root, GIT_FOLDER).removeprefix("gitdir: "))


def common_folder(git: str) -> str:
    """Return git's folder for all working trees of a repository, given one tree's own."""
    return os.path.join(git, _first_line(git, "commondir"))


def _first_line(folder: str, name: str) -> str:
    """Return the first line of a file; empty if it cannot be read."""
    try:
        with open_found(folder, name) as handle:
            return os.fsdecode(handle.readline(MAX_PATH_BYTES).rstrip(b"\r\n"))
    except (OSError, UserError):
        return ""
