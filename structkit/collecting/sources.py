"""What a walk finds: files to read, and what is left out and why."""

from __future__ import annotations

import os
from dataclasses import dataclass

from structkit.errors import UserError, flag
from structkit.records.jsonl import Record

# what is left out unless asked for, and how to include it
HIDDEN = "hidden", "include it with --hidden"
IGNORED = "ignored by .gitignore or .ignore", "include it with --no-ignore"
LINK = "a symbolic link", "name its target"
ARCHIVE = "an archive", "include it with --archives"
COMPRESSED = "compressed", "include it with --archives"
# in archives: the target of a link has its own name, if it is in there
LINK_INSIDE = "a link in an archive", "leave it out"
ARCHIVE_INSIDE = "an archive in an archive", "unpack the outer one"
COMPRESSED_INSIDE = "compressed in an archive", "unpack the archive"
SPECIAL = "not a regular file", "write its content to a file"
ALIKE = "has the same name as another as UTF-8", "rename it"
OUTPUT = "the output itself", "write it to another folder"
BINARY = "binary", "convert it to text"
MINIFIED = "minified", "include it with --generated"
GENERATED = "generated", "include it with --generated"
EMPTY = "without text", "write some, or leave it out"
NO_PAGE = "an error page of a server", "leave it out"

SECONDS = 5.0  # of CPU time for a file; a megabyte takes 0.5


@dataclass(frozen=True)
class Source:
    """A file, or the content of one in an archive (`data`); `path` is its name in records."""

    path: str
    file: str = ""
    data: bytes | None = None
    size: int = 0
    media: str = ""  # the content type that a server gave
    language: str = ""  # where its name does not tell
    record: Record | None = None  # the other fields of the record that held it


@dataclass(frozen=True)
class LeftOut:
    """A path of which no record is made; `fault` if something is wrong with it."""

    path: str
    problem: str
    remedy: str
    fault: bool = False

    @classmethod
    def because(cls, path: str, error: UserError) -> LeftOut:
        """A path that is left out because of an error."""
        return cls(path, error.problem, error.remedy, fault=True)

    @property
    def error(self) -> UserError:
        """Why it is left out."""
        return UserError(self.problem, self.remedy).at(self.path)


Found = Source | LeftOut


def too_large(most: int) -> UserError:
    """The error for a file with too many bytes."""
    return UserError(f"has more than {most:,} bytes", f"raise {flag('max_file_bytes')}")


def readable(path: str) -> str:
    r"""A path as text: bytes that are not UTF-8 are written as `\xff`, so that names differ.

    >>> readable(os.fsdecode(b"caf\xe9.py"))
    'caf\\xe9.py'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")
