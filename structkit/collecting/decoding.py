"""Bytes to text: UTF-8, what a byte order mark or the file declares, or what it looks like."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

from structkit.errors import UserError

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before the mark of UTF-16, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# of Python (and Emacs and Vim), HTML, CSS and XML
DECLARED = re.compile(
    rb"(?:coding[:=]|charset\s*=|@charset|encoding\s*=)\s*[\"']?\s*([A-Za-z][\w.:-]*)"
)
HEAD = 8_000  # bytes, as many as git looks at
SAMPLE = 64_000  # bytes from which an encoding is guessed
CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b"))
FORMATS = (b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x7fELF")


def is_binary(data: bytes) -> bool:
    r"""Whether bytes are not text: a NUL among the first, as for git, or many control characters.

    >>> is_binary(b"a\0b"), is_binary("\ufeffa".encode("utf-16-le"))
    (True, False)
    """
    head = data[:HEAD]
    if head.startswith(FORMATS):
        return True
    if any(head.startswith(mark) for mark, _ in MARKS):
        return False
    return b"\0" in head or len(head) - len(head.translate(None, CONTROLS)) > len(head) / 50


def decode(data: bytes, media: str = "") -> str:
    """The text in some bytes; an unknown encoding raises."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = error.start + 1
    for match in (DECLARED.search(media.encode("ascii", "replace")), DECLARED.search(data[:1024])):
        if match and (encoding := match[1].decode().lower()) not in ("utf-8", "utf8"):
            try:
                return data.decode(encoding)
            except (LookupError, UnicodeDecodeError, ValueError):
                continue  # the declaration is wrong
    # the text around the first byte that is not UTF-8 tells most
    sample = data[max(0, bad - SAMPLE // 2) :][:SAMPLE]
    guess = from_bytes(sample).best()
    if guess is None:
        raise UserError(
            f"its encoding is unknown (byte {bad:,} is not UTF-8)",
            "convert it, for example with iconv -t utf-8",
        )
    return _decoded(data, guess.encoding)


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise UserError(
            f"begins as {encoding}, but is not all of it ({error})",
            "convert it, for example with iconv -t utf-8",
        ) from None
