"""Strings and comments by a language's lexical rules alone, for code with errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from structkit.structure import Span

MIRROR = {"(": ")", "[": "]", "{": "}", "<": ">"}
ESCAPE = r"\\."
NEVER = r"(?!)"
FLAGS = re.DOTALL | re.MULTILINE


@dataclass(frozen=True)
class Form:
    """One form of strings or comments; patterns are for `re`, with DOTALL and MULTILINE.

    `{0}` in `end` and `nest` is the first group of `start`, as matched in the text; in `end` an
    opening bracket becomes the closing one. A form without its end extends to the end of the text.
    """

    start: str
    end: str
    escape: str = ESCAPE  # text that does not end it
    code: str = ""  # start of code inside, up to its closing `}`
    nest: str = ""  # nested starts that must be ended too
    line: bool = False  # it ends with its line, whatever is open in it
    later: bool = False  # it begins with the next line: the start is a heredoc's


def quoted(sign: str, *, before: str = "", code: str = "", line: bool = True) -> Form:
    """Return the form of a string between two equal quotes, in which a backslash escapes."""
    end = f"{sign}|(?=\\n)" if line else sign
    return Form(before + sign, end, code=code, line=line)


def until_line(start: str, end: str = r"$", escape: str = NEVER) -> Form:
    """Return the form of a comment up to the end of its line."""
    return Form(start, end, escape)


def block(start: str = r"/\*", end: str = r"\*/", nest: str = "") -> Form:
    """Return the form of a comment with its own end."""
    return Form(start, end, escape=NEVER, nest=nest)


def whole(pattern: str) -> Form:
    """Return the form of one pattern from start to end."""
    return Form(pattern, r"(?:)", escape=NEVER)


@dataclass
class _Open:
    """String that is being read: its possible continuations, and the number of open ends."""

    form: Form
    next: re.Pattern[str]
    nested: int = 0
    braces: int = 0  # of the code inside


@dataclass(frozen=True)
class Lexical:
    """Forms of a language; `plain` are patterns that look like a start but are not."""

    forms: tuple[Form, ...]
    plain: tuple[str, ...] = ()

    @cached_property
    def _code(self) -> re.Pattern[str]:
        starts = [f"(?P<form{number}>{form.start})" for number, form in enumerate(self.forms)]
        plain = [f"(?P<plain>{'|'.join(self.plain)})"] if self.plain else []
        every = [*plain, *starts, r"(?P<brace>[{}])", r"(?P<newline>\n)"]
        return re.compile("|".join(every), FLAGS)

    def holes(self, text: str) -> list[Span]:
        """Return the spans of strings, including code in them, and comments, in order."""
        holes: list[Span] = []
        around: list[_Open] = []  # strings in whose code we are
        waiting: list[_Open] = []  # heredocs of this line
        inside: _Open | None = None
        at = begin = 0
        while match := (inside.next if inside else self._code).search(text, at):
            at, kind = match.end(), match.lastgroup or ""
            if inside:
                inside, closed = self._in_string(inside, kind, around)
                if closed and not around:
                    holes.append((begin, at))
            elif kind.startswith("form"):
                opened = self._opened(match)
                if not around:
                    begin = match.start()
                if not opened.form.later:
                    inside = opened
                    continue
                waiting.append(opened)
                if not around:
                    holes.append(match.span())
            elif kind == "brace" and around:
                inside = self._brace(match[0], around)
            elif kind == "newline":
                while around and around[-1].form.line:
                    around.pop()
                    if not around:
                        holes.append((begin, at))
                if waiting:
                    inside = waiting.pop(0)
                    begin = begin if around else at
        if inside or around:
            holes.append((begin, len(text)))
        return holes

    def _opened(self, match: re.Match[str]) -> _Open:
        """Return the string that begins with a match."""
        name = match.lastgroup or ""
        form = self.forms[int(name.removeprefix("form"))]
        number = match.re.groupindex[name]
        group = match[number + 1] if "{0}" in form.end else ""
        return _Open(form, _inside(form, group))

    @staticmethod
    def _in_string(inside: _Open, kind: str, around: list[_Open]) -> tuple[_Open | None, bool]:
        """Return the string that is read next, if any, and whether this one is closed."""
        if kind == "nest":
            inside.nested += 1
        elif kind == "code":
            inside.braces = 0
            around.append(inside)
            return None, False
        elif kind == "end":
            if not inside.nested:
                return None, True
            inside.nested -= 1
        return inside, False

    @staticmethod
    def _brace(sign: str, around: list[_Open]) -> _Open | None:
        """Return the string that continues after a brace, if the brace closes its code."""
        if sign == "}" and not around[-1].braces:
            return around.pop()
        around[-1].braces += 1 if sign == "{" else -1
        return None


@lru_cache(1024)
def _inside(form: Form, group: str) -> re.Pattern[str]:
    """Return the pattern of what may follow in a string of a form that began with a group."""
    end = form.end.replace("{0}", re.escape(MIRROR.get(group, group)))
    nest = form.nest.replace("{0}", re.escape(group)) if group in MIRROR or group == "" else ""
    parts = {"escape": form.escape, "code": form.code, "nest": nest, "end": end}
    pattern = "|".join(f"(?P<{name}>{part})" for name, part in parts.items() if part)
    return re.compile(pattern, FLAGS)


def c_lexical(*strings: Form) -> Lexical:
    """Return the comments, directives and strings of C, with these strings added."""
    before = r"(?:(?<!\w)(?:u8|[uUL]))?"
    return Lexical(
        (
            until_line(r"//", escape=r"\\\r?\n"),
            until_line(r"^[ \t]*#[ \t]*(?:error|warning|pragma)\b", escape=r"\\\r?\n"),
            whole(r"#[ \t]*include[ \t]*<[^>\n]*>?"),
            block(),
            *strings,
            quoted('"', before=before),
            quoted("'", before=before),
        ),
        plain=(r"(?<!\w)\d[\w.]*(?:'\w+)+",),  # in a number, a quote separates digits
    )
