"""The content of what is packed, read without unpacking it: zip, tar, WARC, one file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import posixpath
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import IO, Any

from structkit.collecting.sources import (
    ARCHIVE_INSIDE,
    COMPRESSED_INSIDE,
    HIDDEN,
    IGNORE_FILES,
    IGNORED,
    LINK_INSIDE,
    NO_PAGE,
    SPECIAL,
    TAR,
    VERSIONS,
    WARC,
    ZIP,
    Found,
    Ignoring,
    LeftOut,
    Source,
    content_of,
    is_archive,
    is_packed,
    readable_path,
    too_large,
)
from structkit.errors import UserError
from structkit.extras import require
from structkit.paths import refuse_pipe
from structkit.records.lines import cannot_read

OPENERS = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
# what the libraries raise for an archive that is cut, damaged, or locked
DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError),
    *(OSError, EOFError, ValueError, NotImplementedError, RuntimeError, struct.error),
    *(IndexError, KeyError, OverflowError),
)
LARGEST = 1_000_000  # bytes of an ignore file
OUTSIDE = UserError("its name leads out of the archive", "pack the archive again")
NAMELESS = UserError("has no name in the archive", "pack the archive again")


@dataclass(frozen=True)
class Member:
    """One file in an archive: its name there, its size, and how it is read."""

    name: str
    size: int
    read: Callable[[], bytes]
    reason: tuple[str, str] | None = None  # why it is left out


@dataclass(frozen=True)
class Archives:
    """Which files of an archive are read."""

    hidden: bool
    ignore_files: bool
    max_file_bytes: int

    def sources(self, shown: str, path: str) -> Iterator[Found]:
        """All files of an archive, sorted by path; a compressed tar or WARC in its own order."""
        name = path.lower()
        try:
            if name.endswith((*ZIP, *TAR)):
                refuse_pipe(path, "an archive")
            if name.endswith(WARC):
                with open(path, "rb") as handle:
                    yield from self._pages(handle)
            elif name.endswith(ZIP):
                with zipfile.ZipFile(path) as packed:
                    yield from self._members(shown, list(_zip_members(packed)))
            elif name.endswith(TAR):
                with tarfile.open(path) as unpacked:
                    yield from self._members(shown, _tar_members(unpacked, name))
            else:
                stem, ending = posixpath.splitext(posixpath.basename(shown))
                with OPENERS[ending.lower()](path) as handle:
                    yield content_of(f"{shown}/{stem}", handle, self.max_file_bytes)
        except DAMAGE as error:
            yield LeftOut.because(shown, _damage(error))

    def _members(self, shown: str, members: list[Member]) -> Iterator[Found]:
        last: dict[str, Member] = {}  # of two with the same name the later counts, as in unpacking
        for member in members:
            name = posixpath.normpath(member.name)
            if name == ".":
                yield LeftOut.because(f"{shown}/{readable_path(member.name)}", NAMELESS)
            elif member.name.startswith("/") or "\\" in name or name.split("/")[0] == "..":
                yield LeftOut.because(f"{shown}/{readable_path(member.name)}", OUTSIDE)
            else:
                last.pop(name, None)
                last[name] = member
        rules = _Rules(last) if self.ignore_files else None
        for name, member in last.items():
            yield self._member(f"{shown}/{readable_path(name)}", name, member, rules)

    def _member(self, path: str, name: str, member: Member, rules: _Rules | None) -> Found:
        parts = name.split("/")
        hidden = not self.hidden and any(part.startswith(".") for part in parts)
        if hidden or not VERSIONS.isdisjoint(parts):
            return LeftOut(path, *HIDDEN)
        if rules and rules.hides(parts):
            return LeftOut(path, *IGNORED)
        if member.reason or is_packed(name):
            inside = ARCHIVE_INSIDE if is_archive(name) else COMPRESSED_INSIDE
            return LeftOut(path, *(member.reason or inside))
        if member.size > self.max_file_bytes:
            return LeftOut.because(path, too_large(self.max_file_bytes))
        try:
            return Source(path, data=member.read(), size=member.size)
        except DAMAGE as error:
            return LeftOut.because(path, _damage(error))

    def _pages(self, handle: IO[bytes]) -> Iterator[Found]:
        """The responses of servers, each under its address."""
        times: dict[str, int] = {}
        for record in _web_records(handle):
            address = record.rec_headers.get_header("WARC-Target-URI") or "(no address)"
            times[address] = number = times.get(address, 0) + 1
            address = f"{address}~{number}" if number > 1 else address
            http = record.http_headers
            if http and http.get_statuscode() != "200":
                yield LeftOut(address, *NO_PAGE)
                continue
            media = (http or record.rec_headers).get_header("Content-Type") or ""
            yield content_of(address, record.content_stream(), self.max_file_bytes, media=media)


class _Rules:
    """The ignore files of an archive, read before the rest: a compressed tar only goes forward."""

    def __init__(self, members: dict[str, Member]) -> None:
        self._texts = {
            name: member.read()
            for name, member in members.items()
            if posixpath.basename(name) in IGNORE_FILES
            if not member.reason and member.size < LARGEST
        }
        self._folders: dict[str, Ignoring] = {}

    def hides(self, parts: list[str]) -> bool:
        """Whether a file, or a folder that contains it, is ignored."""
        rules, folder = self._of("", Ignoring()), ""
        for part in parts[:-1]:
            folder += f"{part}/"
            if rules.hides(folder):
                return True
            rules = self._of(folder, rules)
        return rules.hides("/".join(parts))

    def _of(self, folder: str, outer: Ignoring) -> Ignoring:
        if folder not in self._folders:
            texts = self._texts
            self._folders[folder] = outer.within(folder, lambda name: texts.get(folder + name))
        return self._folders[folder]


def _web_records(handle: IO[bytes]) -> Iterator[Any]:
    """The records of a WARC that hold pages."""
    failed = require("warcio.exceptions", "warc").ArchiveLoadFailed
    try:
        for record in require("warcio.archiveiterator", "warc").ArchiveIterator(handle):
            if record.rec_type in ("response", "resource", "conversion"):
                yield record
    except (failed, AttributeError, TypeError):  # for missing headers
        raise ValueError("a record does not begin like one of a WARC") from None


def _zip_members(packed: zipfile.ZipFile) -> Iterator[Member]:
    for info in sorted(packed.infolist(), key=lambda info: _sort_key(info.filename)):
        if not info.filename.endswith("/"):
            link = (info.external_attr >> 28) == 0o12
            read = partial(_content, packed.open, info, info.file_size)
            yield Member(info.filename, info.file_size, read, LINK_INSIDE if link else None)


def _tar_members(unpacked: tarfile.TarFile, name: str) -> list[Member]:
    infos = [info for info in unpacked.getmembers() if not info.isdir()]
    files = {info.name: info for info in infos if info.isreg()}
    # a file with two names is stored once, with a link to it
    meant = {info: files.get(info.linkname) or info if info.islnk() else info for info in infos}
    if name.endswith(".tar"):  # only a plain one can be read in any order
        infos.sort(key=lambda info: _sort_key(info.name))
    else:
        infos.sort(key=lambda info: meant[info].offset_data)
    open_once = lru_cache(1)(partial(_content, unpacked.extractfile))
    members = []
    for info in infos:
        file = meant[info]
        reason = None if file.isreg() else LINK_INSIDE if info.linkname else SPECIAL
        members.append(Member(info.name, file.size, partial(open_once, file, file.size), reason))
    return members


def _sort_key(name: str) -> bytes:
    return name.encode("utf-8", "replace")


def _content(open_member: Callable[[Any], IO[bytes] | None], info: Any, size: int) -> bytes:
    handle = open_member(info)
    if handle is None:
        return b""
    with handle:
        data = handle.read(size + 1)  # a hostile archive may try to fill memory
    if len(data) != size:
        raise EOFError("its length is not the declared one")
    return data


def _damage(error: Exception) -> UserError:
    if isinstance(error, RuntimeError) and "password" in str(error):
        return UserError("is locked with a password", "unpack it, and collect the folder")
    if isinstance(error, gzip.BadGzipFile) or (isinstance(error, OSError) and error.strerror):
        return cannot_read(error)
    problem = str(error) or type(error).__name__
    return UserError(f"cannot be read: {problem}", "it is cut or damaged: copy it again")
