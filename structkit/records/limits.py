"""What a record may be: how many bytes, and how deeply nested."""

from __future__ import annotations

import os

import orjson

from structkit.errors import MEND, UserError

VARIABLE = "STRUCTKIT_MAX_RECORD_BYTES"  # of the environment
MOST = 64_000_000  # bytes of a line, unless it says otherwise
DEEPEST = 254  # levels that orjson writes


def most_bytes() -> int:
    """The maximum of bytes of a line, in this process and in those that it starts.

    What is longer is not held in memory, even where a small gzip file unpacks to it.
    Errors: `UserError` with status 2 where the environment does not say a number.
    """
    text = os.environ.get(VARIABLE, str(MOST))
    if not text.isdecimal() or not 1 <= int(text) <= 2**40:
        problem = f"{VARIABLE}={text} is not a number from 1 to {2**40:,}"
        raise UserError(problem, "set it to a number of bytes, or unset it", status=2)
    return int(text)


def limit_bytes(most: int) -> None:
    """Read no longer lines from now on."""
    os.environ[VARIABLE] = str(most)


def too_long() -> UserError:
    """The error for a line with more bytes.

    >>> print(too_long().problem)
    the record has more than 64,000,000 bytes
    """
    return UserError(
        f"the record has more than {most_bytes():,} bytes",
        f"set {VARIABLE} to a larger number, or leave the record out",
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
