"""What a record may be: how many bytes, and how deeply nested."""

from __future__ import annotations

import orjson

from structkit.errors import MEND, UserError

MOST = 64_000_000  # bytes of a line, unless --max-record-bytes says otherwise
DEEPEST = 254  # levels that orjson writes

_most = MOST


def limit_bytes(most: int) -> None:
    """Read no longer lines from now on, in this process and in those that it starts.

    What is longer is not held in memory, even where a small gzip file unpacks to it.
    """
    global _most  # noqa: PLW0603 the flag of a command holds for all that it reads
    _most = most


def most_bytes() -> int:
    """The most bytes of a line that is read."""
    return _most


def too_long() -> UserError:
    """The error for a line with more bytes.

    >>> print(too_long())
    the record has more than 64,000,000 bytes; raise --max-record-bytes, or leave the record out
    """
    return UserError(
        f"the record has more than {_most:,} bytes",
        "raise --max-record-bytes, or leave the record out",
    )


def too_deep() -> UserError:
    """The error for a record that could be read, but not written.

    >>> print(too_deep())
    the record is nested more than 254 levels deep; fix the record, or leave it out
    """
    return UserError(f"the record is nested more than {DEEPEST} levels deep", MEND)


def may_be_deep(line: bytes) -> bool:
    """Whether a line has enough brackets for a record that is too deep."""
    return line.count(b"[") + line.count(b"{") > DEEPEST


def is_deep(value: object) -> bool:
    """Whether JSON that orjson has read is too deep for it to write.

    >>> is_deep(orjson.loads("[" * 254 + "]" * 254)), is_deep(orjson.loads("[" * 255 + "]" * 255))
    (False, True)
    """
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False
