"""Progress for people: on stderr, only when it is a terminal."""

import json
import logging
import os
import re
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from io import FileIO, TextIOWrapper
from typing import Any

from structkit.errors import surface

CLEAR_LINE = "\r\x1b[K"  # a terminal's line, before it is written anew

_hushed = False


def hush(quiet: bool = True) -> None:
    """Keep everything but errors off stderr from now on (or no longer): progress and messages."""
    global _hushed  # noqa: PLW0603 one process has one stderr
    _hushed = quiet
    logging.disable(logging.WARNING if quiet else logging.NOTSET)  # messages of libraries too
    if quiet:
        warnings.simplefilter("ignore")


@contextmanager
def quiet_block(quiet: bool) -> Iterator[None]:
    """Hush for a block of code, then restore the state before."""
    before = _hushed
    hush(quiet or before)
    try:
        yield
    finally:
        hush(before)


def colored() -> bool:
    """Return whether stdout gets colors: a terminal does, unless NO_COLOR is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and os.isatty(1)


@dataclass(frozen=True)
class Position:
    """Progress of a command: things done, and the share of the input, if its size is known."""

    count: int
    done: float = 0.0
    total: float | None = None
    note: str = ""
    noun: str = "records"


@contextmanager
def progress(label: str, look: Callable[[], Position]) -> Iterator[None]:
    """Show what `look` returns, five times a second, while the block runs.

    A thread reads the position from outside, so the work is not slowed down.
    """
    if not _shows_progress():
        yield
        return
    stop, started = threading.Event(), time.monotonic()

    def show() -> None:
        while not stop.wait(0.2):
            _write_over(describe(label, look(), time.monotonic() - started))

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        _write_over("")


def describe(label: str, now: Position, seconds: float) -> str:
    """Return the progress of a command, after some seconds.

    >>> describe("encode", Position(1200, 30, 120, "loss 0.1"), 60)
    'encode: 1,200 records, 20/s, 0:01:00 elapsed, 25 %, 0:03:00 left, loss 0.1'
    """
    parts = [f"{label}: {now.count:,} {now.noun}", f"{now.count / seconds:,.0f}/s"]
    parts.append(f"{timedelta(seconds=int(seconds))} elapsed")
    if now.total and now.done:
        left = max(0, int(seconds * (now.total / now.done - 1)))
        parts += [f"{100 * now.done / now.total:.0f} %", f"{timedelta(seconds=left)} left"]
    if now.note:
        parts.append(now.note)
    return ", ".join(parts)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal what is being done, and erase it when it is done."""
    if not _shows_progress():
        yield
        return
    _write_over(f"structkit: {what} …")
    try:
        yield
    finally:
        _write_over("")


def _write_over(line: str) -> None:
    """Overwrite the current line of the terminal, cut to its width."""
    try:
        width = os.get_terminal_size(2).columns
    except OSError:
        width = shutil.get_terminal_size().columns
    sys.stderr.write(f"{CLEAR_LINE}{line[: width - 1]}")
    sys.stderr.flush()


LONG_WORD = re.compile(r"(\S{200})\S{100,}(\S{50})")


def printable(text: str) -> str:
    r"""Return a line with escaped control characters, so that a terminal does not obey them.

    >>> printable("tea\x1b[31m")
    'tea\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


# what a terminal obeys or does not show: control characters, marks of direction, unseen ones
OBEYED = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
STYLES = "\x1b\\[[\\d;]*m|\x1b\\]8;[^\x00-\x1f]*\x1b\\\\"  # colors and links
CURSOR_MOVES = "\r|\x1b\\[[\\d;]*[AK]"  # of progress lines
NO_CHARACTERS = "(?!)"  # matches nowhere


def for_terminal(data: bytes, kept: str = NO_CHARACTERS) -> bytes:
    r"""Return output as a terminal gets it: characters that it would obey become JSON's escapes.

    `kept` is a pattern of those that pass.

    >>> for_terminal("tea \x1b[31m \u202e".encode())
    b'tea \\u001b[31m \\u202e'
    """
    text = data.decode(errors="backslashreplace")
    pattern = f"({kept})|{OBEYED}"
    return re.sub(pattern, lambda match: match[1] or json.dumps(match[0])[1:-1], text).encode()


class Terminal(FileIO):
    """Descriptor that gets no characters which a terminal would obey, but the `kept` ones."""

    def __init__(self, file: int | str, kept: str = NO_CHARACTERS) -> None:
        super().__init__(file, "wb", closefd=isinstance(file, str))
        self.kept = kept

    def write(self, data: Any) -> int:
        left = memoryview(for_terminal(bytes(data), self.kept) if self.isatty() else data)
        while left:
            left = left[super().write(left) or 0 :]
        return len(data)


class Messages(Terminal):
    """Descriptor of stderr: a command goes on where its messages cannot be written."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            super().write(data)
        return len(data)


def guard_streams() -> None:
    """Let all text for people pass a `Terminal`, whoever writes it."""
    if sys.stdout:
        sys.stdout = _text_file(Terminal(1, STYLES))
    if sys.stderr:  # libraries show progress there
        sys.stderr = _text_file(Messages(2, f"{STYLES}|{CURSOR_MOVES}"))


def _text_file(file: Any) -> TextIOWrapper:
    return TextIOWrapper(file, "utf-8", "backslashreplace", line_buffering=True)


def format_count(number: int, noun: str) -> str:
    """Return a number of things, in words.

    >>> format_count(1, "file"), format_count(1200, "file")
    ('1 file', '1,200 files')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(message: str) -> None:
    """Print one line on stderr, unless the user asked for quiet; the surface takes note of it."""
    surface().note(message)
    if not _hushed:
        complain(message)


def _shows_progress() -> bool:
    """Return whether a person watches a command that may show progress."""
    return surface().progress and not _hushed and _stderr_is_terminal()


def _stderr_is_terminal() -> bool:
    """Return whether a person looks at stderr."""
    return bool(sys.stderr) and sys.stderr.isatty()


def complain(message: str) -> None:
    """Print one line on stderr in any case: why the program ends."""
    if sys.stderr:  # it may be closed, and print would then take stdout
        line = printable(" ".join(message.split("\n")))
        line = LONG_WORD.sub(r"\1…\2", line)  # a field or a flag: the remedy follows it
        start = CLEAR_LINE if _stderr_is_terminal() else ""  # over a progress line
        print(f"{start}structkit: {line}", file=sys.stderr)  # noqa: T201 the place where messages go
