"""Web archives (WARC): the answers of servers, each checked to the end of its record.

A record, or a member of a gzip file, may be cut or damaged: reading goes on at the next whole one.

Tests: tests/collecting/test_archives.py.
"""

import io
import logging
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from structkit.extras import require

BLOCK_BYTES = 1 << 14  # bytes
KEPT_MEMBER_BYTES = 1 << 20  # bytes of a damaged member in which the next one is looked for
GZIP = b"\x1f\x8b"
RECORD_START = re.compile(rb"WARC/\d+\.\d+\s*\Z")
CAPTURE_TYPES = ("response", "resource", "conversion")
NON_PAGE_SCHEMES = ("dns:", "whois:", "ntp:")  # of a crawler's own questions
PAGE_STATUSES = ("200", "203", "206")  # status of an answer with the page, or with a part of it
UNKNOWN_MEDIA = ("", "*/*", "unknown/unknown", "application/unknown")
# how HTML begins (MIME Sniffing, 7.1)
HTML_START = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?<(!--|(!doctype html|html|head|body|title|h1|div|table|p|a)[\s>])", re.I
)
NULL_HANDLER = logging.NullHandler()  # or warnings of warcio go to stderr


class Capture(NamedTuple):
    """What a server gave at an address: None for an error page; or why it cannot be read."""

    address: str
    data: bytes | None = None
    media: str = ""
    problem: Exception | None = None


class Damage(ValueError):
    """Bytes that are lost; the next read goes on behind them."""


def captures(handle: Any, maximum: int) -> Iterator[Capture]:
    """Yield the answers in an open WARC, in order, with at most `maximum` bytes and one of each.

    What is damaged has a problem instead, and no address if none is known.
    """
    logging.getLogger("warcio").addHandler(NULL_HANDLER)
    loader = require("warcio.recordloader", "warc").ArcWarcRecordLoader(verify_http=False)
    packed = handle.peek(2)[:2] == GZIP
    stream = io.BufferedReader(_BlockStream(_gzip_blocks(handle.read))) if packed else handle
    line = b""
    while True:
        capture = None
        address = ""
        is_whole = False
        try:
            lines = chain([line], iter(stream.readline, b""))
            line = next((each for each in lines if each.strip()), b"")
            if not line:
                return
            record = loader.parse_record_stream(stream, line)
            named = record.rec_headers.get_header("WARC-Target-URI") or "(no address)"
            if record.rec_type in CAPTURE_TYPES and not named.startswith(NON_PAGE_SCHEMES):
                address = named
            if record.length is None:
                raise ValueError("a record has no Content-Length")
            if address:
                capture = _capture(record, address, maximum)
            _read_rest(record)
            is_whole = True
            line = _line_after(record, stream)
        except Exception as error:
            if is_whole and isinstance(error, Damage):  # the file is cut behind the record
                if capture:
                    yield capture
                address = ""
            if isinstance(error, AttributeError):  # warcio misses a line of the head
                error = ValueError("the head of a record is cut")
            capture = Capture(address, problem=error)
            line = _next_start(stream)
        if capture:
            yield capture


def _read_rest(record: Any) -> None:
    """Read a record to its end. Errors: it is cut."""
    while record.raw_stream.read(BLOCK_BYTES):
        pass
    if record.raw_stream.limit:
        raise ValueError("a record is shorter than its Content-Length")


def _line_after(record: Any, stream: io.BufferedReader) -> bytes:
    """Return the line after a record. Errors: the record is longer than it says."""
    line = stream.readline(BLOCK_BYTES)
    if record.format == "warc" and line.strip() and not RECORD_START.match(line):
        raise ValueError("a record is longer than its Content-Length")
    return line


def _next_start(stream: io.BufferedReader) -> bytes:
    """Return the first line of the next record, or nothing at the end."""
    before = b"\n"
    while True:
        try:
            line = stream.readline(BLOCK_BYTES)
        except Damage:
            continue
        if not line or (before.endswith(b"\n") and RECORD_START.match(line)):
            return line
        before = line


def _capture(record: Any, address: str, maximum: int) -> Capture:
    http = record.http_headers
    if http and http.get_statuscode() not in PAGE_STATUSES:
        return Capture(address)
    data = bytearray()
    for block in _content(record):
        data += block
        if len(data) > maximum:
            break
    media = (http or record.rec_headers).get_header("Content-Type") or ""
    if media.strip().lower() in UNKNOWN_MEDIA and HTML_START.match(data):
        media = "text/html"
    return Capture(address, bytes(data[: maximum + 1]), media)


def _content(record: Any) -> Iterator[bytes]:
    """Yield the content of a record, decoded unless a crawler did it already.

    warcio's own stream goes on behind what is damaged.
    """
    readers = require("warcio.bufferedreaders", "warc")
    stream, http = record.raw_stream, record.http_headers
    coding = ""
    if http:
        coding = (http.get_header("Content-Encoding") or "").partition(",")[0].strip().lower()
        if (http.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
            stream = readers.ChunkedDataReader(stream)
    blocks = iter(lambda: stream.read(BLOCK_BYTES), b"")
    first = next(blocks, b"")
    known, coding = readers.BufferedReader.DECOMPRESSORS, coding.removeprefix("x-")
    for name in (coding, f"{coding}_alt"):
        try:
            decoder = known[name]()
            yield decoder.decompress(first)
        except KeyError:
            continue
        except Exception as error:  # each library has its own
            if first.startswith(GZIP):
                raise ValueError("the content is damaged") from error
            continue
        yield from map(decoder.decompress, blocks)
        return
    yield first
    yield from blocks


def _gzip_blocks(read: Callable[[int], bytes]) -> Iterator[bytes | Damage]:
    """Yield the content of a gzip file; the last block of a member after it is checked, or cut."""
    rest = read(BLOCK_BYTES)
    while rest := rest.lstrip(b"\0") or read(BLOCK_BYTES).lstrip(b"\0"):
        member, seen, held = zlib.decompressobj(31), bytearray(), b""
        try:
            while not member.eof:
                seen += rest
                if len(seen) > 2 * KEPT_MEMBER_BYTES:
                    del seen[:-KEPT_MEMBER_BYTES]
                if block := member.decompress(rest):
                    yield held
                    held = block
                rest = member.unused_data if member.eof else read(BLOCK_BYTES)
                if not rest and not member.eof:
                    raise EOFError("it ends in the middle of a record")
            yield held
        except (zlib.error, EOFError) as error:
            if isinstance(error, EOFError):
                yield held
            yield Damage(str(error))
            rest = bytes(seen[1:])
            while GZIP not in rest and (more := read(BLOCK_BYTES)):
                rest = rest[-1:] + more
            rest = rest[rest.find(GZIP) :] if GZIP in rest else b""


class _BlockStream(io.RawIOBase):
    """Blocks as a file; each damage among them raises once."""

    def __init__(self, blocks: Iterator[bytes | Damage]) -> None:
        self.blocks, self.left = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self.left and (block := next(self.blocks, None)) is not None:
            if isinstance(block, Damage):
                raise block
            self.left = memoryview(block)
        size = min(len(into), len(self.left))
        into[:size], self.left = self.left[:size], self.left[size:]
        return size
