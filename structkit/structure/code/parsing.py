"""Parsing that gives up in time: a few kilobytes of odd code can keep a grammar busy for hours."""

from __future__ import annotations

import re
from time import thread_time

import tree_sitter

from structkit.errors import UserError
from structkit.processes import in_child

LIMIT = 5.0  # seconds of CPU time: a function takes 0.0001, a megabyte 0.2
LONG = 8_000  # bytes
SHORT = 1_000  # bytes: the worst known text of this size takes 0.2 s


def parse(parser: tree_sitter.Parser, data: bytes) -> tree_sitter.Tree:
    """The tree of UTF-8 text; a text that takes longer than the limit raises."""
    if len(data) < SHORT:
        return parser.parse(data)
    # at the end of a text, one step may take time and memory quadratic in what is open
    if len(data) > LONG and not _ends(parser, data):
        raise _too_slow()
    end = thread_time() + LIMIT

    # only a parse that reads by a function can be stopped: all at once, so that it reads once
    def read(offset: int, _point: tree_sitter.Point) -> bytes:
        return data[offset:]

    def late(_offset: int, _error: bool) -> bool:
        return thread_time() > end

    try:
        return parser.parse(read, progress_callback=late)
    except BaseException as error:  # Ctrl-C stops it too
        parser.reset()  # or the next text would be taken for the rest of this one
        if isinstance(error, ValueError):
            raise _too_slow() from None
        raise


def blanked(pattern: re.Pattern[bytes] | None, data: bytes) -> bytes:
    """Text with spaces for what a pattern finds: each place stays, lines end where they did.

    >>> blanked(re.compile(rb"(?<=class )API"), b"class API A {")
    b'class     A {'
    """
    if pattern is None:
        return data
    return pattern.sub(lambda match: re.sub(rb"[^\n]", b" ", match[0]), data)


def _too_slow() -> UserError:
    return UserError(f"parsing takes longer than {LIMIT:g} s", "leave the record out")


def _ends(parser: tree_sitter.Parser, data: bytes) -> bool:
    """Whether a separate process, which can be stopped at any point, parses the text in time."""
    return in_child(lambda: bool(parser.parse(data)), LIMIT) is not None
