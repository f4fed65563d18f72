"""What a walk finds: files to read, and what is left out and why."""

from __future__ import annotations

from dataclasses import dataclass

from structkit.errors import UserError
from structkit.records.jsonl import Record

# what is none of the texts that are asked for, and how to get it all the same
HIDDEN = "hidden", "--hidden takes it"
IGNORED = "ignored by .gitignore or .ignore", "--no-ignore takes it"
LINK = "a symbolic link", "name what it leads to"
ARCHIVE = "an archive", "--archives opens it"
# of archives: what a link leads to comes under its own name, if it is in there
LINK_INSIDE = "a link in an archive", "leave it out"
ARCHIVE_INSIDE = "an archive in an archive", "unpack the outer one"
SPECIAL = "no regular file", "write its content to a file"
OUTPUT = "the output itself", "write it to another folder"
BINARY = "binary", "convert it to text"
MINIFIED = "minified", "--generated takes it"
GENERATED = "generated", "--generated takes it"
EMPTY = "without text", "write some, or leave it out"
NO_PAGE = "no page but a server's refusal", "leave it out"


@dataclass(frozen=True)
class Source:
    """A file, or what stood in an archive (`data`); `path` is what records call it."""

    path: str
    file: str = ""
    data: bytes | None = None
    size: int = 0
    media: str = ""  # the content type that a server told
    language: str = ""  # where its name tells none
    record: Record | None = None  # what it was a field of: the others


@dataclass(frozen=True)
class LeftOut:
    """A path that no record is made of; `fault` if something is wrong with it."""

    path: str
    problem: str
    remedy: str
    fault: bool = False

    @classmethod
    def because(cls, path: str, error: UserError) -> LeftOut:
        """A path with which something is wrong."""
        return cls(path, error.problem, error.remedy, fault=True)

    @property
    def error(self) -> UserError:
        """Why it is left out."""
        return UserError(self.problem, self.remedy).at(self.path)


Found = Source | LeftOut


def too_large(most: int) -> UserError:
    """The error of a file with too many bytes."""
    return UserError(f"has more than {most:,} bytes", "raise --max-file-bytes")
