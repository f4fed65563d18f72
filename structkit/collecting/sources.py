"""What a walk finds: files to read, and what is left out and why; records that each hold a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pathspec

from structkit.errors import UserError, flag, program
from structkit.records.fields import HTML, text_name
from structkit.records.jsonl import Record, Records, text_field

TEXTS = ("code", *HTML, "text")  # the fields of a record that may hold a file

IGNORE_FILES = (".gitignore", ".ignore")  # the later one counts
LONGEST = 10_000  # characters of a pattern: no path is as long


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

    def content(self, maximum: int) -> bytes:
        """The bytes of the file; of one with more than the maximum, one byte more than that."""
        if self.data is not None:
            return self.data
        with open(self.file, "rb") as handle:
            return handle.read(maximum + 1)


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


def content_of(path: str, handle: IO[bytes], maximum: int, **others: Any) -> Found:
    """The content of an open file under a name, unless it is too large."""
    data = handle.read(maximum + 1)
    if len(data) > maximum:
        return LeftOut.because(path, too_large(maximum))
    return Source(path, data=data, size=len(data), **others)


def too_large(maximum: int) -> UserError:
    """The error for a file with too many bytes."""
    return UserError(f"has more than {maximum:,} bytes", f"raise {flag('max_file_bytes')}")


def readable_path(path: str) -> str:
    r"""A path as text: bytes that are not UTF-8 are written as `\xff`, so that names differ.

    >>> readable_path(os.fsdecode(b"caf\xe9.py"))
    'caf\\xe9.py'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Ignoring:
    """The rules of the folders on the way to a path; the innermost one that applies counts.

    >>> rules = Ignoring(((2, pathspec.GitIgnoreSpec.from_lines(["*.o", "!b.o"])),))
    >>> [rules.hides(path) for path in ("a/a.o", "a/b.o", "a/a.c")]
    [True, False, False]
    """

    rules: tuple[tuple[int, pathspec.GitIgnoreSpec], ...] = ()

    @classmethod
    def above(cls, folder: Path) -> Ignoring:
        """The rules that apply to a folder from outside it: up to the root of its repository."""
        outside = [folder, *folder.parents]
        root = next((number for number, each in enumerate(outside) if (each / ".git").exists()), 0)
        ignoring = cls()
        for outer in reversed(outside[1 : root + 1]):
            ignoring = ignoring.within(f"{outer}/".replace("//", "/"))
        return ignoring

    def within(self, folder: str) -> Ignoring:
        """These rules and those of a folder, whose name ends with a slash."""
        rules = self.rules
        for name in IGNORE_FILES:
            try:
                data = Path(folder, name).read_bytes()
            except OSError:
                continue
            lines = data.decode("utf-8", "replace").splitlines()
            good = [line for line in lines if len(line) <= LONGEST and _is_pattern(line)]
            rules = (*rules, (len(folder), pathspec.GitIgnoreSpec.from_lines(good)))
        return Ignoring(rules)

    def hides(self, path: str) -> bool:
        """Whether a path is ignored; a folder's ends with a slash."""
        for length, spec in reversed(self.rules):
            included = spec.check_file(path[length:]).include
            if included is not None:
                return included
        return False


def _is_pattern(line: str) -> bool:
    """Whether git understands a pattern: it also skips others."""
    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def files_of_records(paths: Sequence[str], maximum: int) -> Iterator[Found]:
    """A file for each record of JSONL files, in order, with the record's other fields.

    Its text is in `code`, `html` or `text`, its name in `path`.
    """
    records = Records.read(paths)
    while True:
        try:
            for record in records:
                yield _file_of(record, maximum)
            return
        except UserError as error:
            placed = records.place(error)
            yield LeftOut.because(f"{placed.file}:{placed.line}", error)


def _file_of(record: Record, maximum: int) -> Source:
    rename = f"rename a field with {program('select')}: {flag('rename', 'FIELD=text')}"
    field = text_name(record, TEXTS, rename)
    data = text_field(record, field).encode()
    if len(data) > maximum:
        raise too_large(maximum)
    language = record.get("language")
    return Source(
        path=text_field(record, "path") if "path" in record else record["id"],
        data=data,
        size=len(data),
        media="text/html" if field in HTML else "",
        language=language if isinstance(language, str) else "",
        record={name: value for name, value in record.items() if name != field},
    )
