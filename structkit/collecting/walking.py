"""Files in folders and archives, sorted by path, and the reasons for skipped ones.

Tests: tests/collecting/test_ignoring.py.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import posixpath
import stat
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any, ClassVar, NamedTuple

from structkit.collecting.books import Chapter, chapters_of
from structkit.collecting.crawls import captures
from structkit.collecting.ignoring import IgnoreRules, file_filter
from structkit.collecting.naming import UniqueNames
from structkit.errors import UserError, flag
from structkit.extras import require
from structkit.paths import FOLDER_FLAGS, NOT_REGULAR, open_below, open_found, refuse_pipe
from structkit.progress import say
from structkit.records.jsonl import Record, Shard, cannot_read, read_stdin
from structkit.settings import setting, settings_class

# reasons for skipping a file, and remedies
IS_HIDDEN = "hidden", "name it too"
IS_PACKED_INSIDE = "packed in an archive", "unpack the outer one"

EPUB_ENDING = ".epub"
WACZ_ENDING = ".wacz"  # a zip archive of WARCs and what finds pages in them
ZIP_ENDINGS = (".zip", ".whl", ".jar", ".egg", ".war", EPUB_ENDING, WACZ_ENDING)
ZSTD_ENDINGS = (".tar.zst", ".tzst")
TAR_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", *ZSTD_ENDINGS)
WARC_ENDINGS = (".warc", ".warc.gz")


def _open_zstd(path: str) -> Any:
    is_in_python = sys.version_info >= (3, 14)
    module = "compression.zstd" if is_in_python else "backports.zstd"
    return require(module, "zstd").ZstdFile(path)


# by the ending of one compressed file, whose content is named without it
OPENERS: dict[str, Callable[[str], Any]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _open_zstd,
}
LEADS_OUTSIDE = UserError("has no name, or it leads out of the archive", "pack the archive again")


@dataclass(frozen=True)
class Source:
    """A file, or the content of one in an archive (`data`); `path` is its name in records."""

    path: str
    file: str = ""
    data: bytes | None = None
    status: os.stat_result | None = None  # of the file
    media: str = ""  # the content type that a server gave
    language: str = ""  # if its name does not show it
    record: Record | None = None  # the other fields of the record that held it
    root: str = ""  # the folder in which a walk found it; none if the user named it
    book: str = ""  # the title of the book that it is a chapter of

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self.status.st_size if self.status else len(self.data or b"")

    def content(self, maximum: int) -> bytes:
        """Return at most `maximum` + 1 bytes of the file.

        Errors: `OSError`; `UserError` if it is no longer a regular file.
        """
        if self.data is not None:
            return self.data
        below = self.file.removeprefix(self.root)
        with open_found(self.root, below) if self.root else open(self.file, "rb") as handle:
            return handle.read(maximum + 1)


@dataclass(frozen=True)
class LeftOut:
    """Skipped path; `fault` if something is wrong with it."""

    # as of a `Source` of which nothing is read
    file: ClassVar = ""
    size: ClassVar = 0
    path: str
    problem: str
    remedy: str
    fault: bool = False

    @classmethod
    def because(cls, path: str, error: Exception) -> LeftOut:
        """Return a path that is skipped because of an error; a library may raise any."""
        if isinstance(error, OSError) and error.strerror:
            error = cannot_read(error)
        if not isinstance(error, UserError):
            problem = f"cannot be read: {str(error) or type(error).__name__}"
            error = UserError(problem, "copy it again, or unpack it where it is locked")
        return cls(path, error.problem, error.remedy, fault=True)

    @property
    def error(self) -> UserError:
        """Error with the reason."""
        return UserError(self.problem, self.remedy).at(self.path)


Found = Source | LeftOut


def readable_path(path: str) -> str:
    r"""Return a path as text; bytes that are not UTF-8 become `\xff`, so that names differ.

    >>> readable_path(os.fsdecode(b"caf\xe9.py"))
    'caf\\xe9.py'
    """
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def glob_setting() -> Any:
    """Declare the globs that choose files by their paths."""
    return setting(
        (),
        "Read only files that match this pattern, as in .gitignore; !PATTERN excludes files.",
        short="-g",
        group="Files",
    )


@settings_class
class WalkOptions:
    """Settings of the files to read."""

    max_file_bytes: int = setting(2_000_000, "Skip larger files.", low=1, group="Files")
    no_ignore: bool = setting(
        False, "Include files that .gitignore and .ignore exclude.", group="Files"
    )


@dataclass(frozen=True)
class Walk:
    """A way through folders.

    A walk with `places` records the status of each path that decides which files it finds: folders,
    ignore files, and named files. The status is taken before reading; None if nothing is there.
    """

    options: WalkOptions
    outputs: frozenset[str] = frozenset()  # real paths of files that are written
    globs: Sequence[str] = ()
    shard: Shard = Shard(0, 1)  # of the files
    places: dict[str, os.stat_result | None] | None = None

    def sources(self, paths: Sequence[str]) -> Iterator[Found]:
        """Yield every file under the paths, sorted, each once; `-` reads paths from stdin.

        Files that a folder skips are read if they are named. Globs match the paths below the named
        one, as in `ask`. These paths also decide a file's shard, so that neither an added file nor
        another name of the folder (`.`, an absolute one) moves it.
        """
        is_chosen = file_filter(self.globs)
        files = matched = 0
        addresses = UniqueNames("~", 2)  # of captures, in whatever files they are
        roots = {os.path.normpath(path): path for path in named_paths(paths)}
        named, seen = set(map(readable_path, roots)), set[tuple[str, str]]()
        for root in sorted(roots, key=lambda root: _path_key(root, os.path.isdir(roots[root]))):
            shown = readable_path(root)
            for found in self._named(shown, roots[root], addresses):
                below = found.path.removeprefix("" if shown == "." else shown).lstrip("/")
                if self.globs:
                    files += 1
                    if not is_chosen(below or posixpath.basename(shown)):
                        continue
                    matched += 1
                # skipped here, but named too
                if not found.file and found.path != shown and found.path in named:
                    continue
                if len(roots) > 1:  # two files may have the same name as text
                    key = found.path, found.file and os.path.realpath(found.file)
                    if key in seen:
                        continue
                    seen.add(key)
                if self.shard.holds(below or shown):
                    yield found
        if files and not matched:
            say(f"none of {files:,} files matches {flag('glob', ' '.join(self.globs))}")

    def _named(self, shown: str, path: str, addresses: UniqueNames) -> Iterator[Found]:
        """Yield all files of a path that the user named, with paths that begin with `shown`."""
        try:
            status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                yield from self._folder(shown, path)
                return
            self._note(path)
            if is_packed(path):
                yield from Archive(shown, self.options.max_file_bytes, addresses).sources(path)
            elif stat.S_ISFIFO(status.st_mode):  # its content can be read once
                content = Source(shown, path).content(self.options.max_file_bytes)
                yield Source(shown, path, data=content)
            elif stat.S_ISREG(status.st_mode):
                yield Source(shown, path, status=status)
            else:
                yield LeftOut.because(shown, UserError(*NOT_REGULAR))
        except OSError as error:
            yield LeftOut.because(shown, error)

    def _folder(self, shown: str, path: str) -> Iterator[Found]:
        """Yield all files of a folder, depth first; links are not followed, so each comes once."""
        real = os.path.realpath(path)
        rules = IgnoreRules()
        if not self.options.no_ignore:
            rules, faults = IgnoreRules.above(real, self._note)
            yield from (LeftOut.because(readable_path(file), faults[file]) for file in faults)
        prefix = "" if shown == "." else os.path.join(shown, "")
        top = _Folder(prefix, os.path.join(real, ""), "", rules)
        waiting = self._entries(top)  # a stack: the next one is the last
        while waiting:
            visited = self._visit(*waiting.pop())
            if isinstance(visited, list):
                waiting += visited
            else:
                yield visited

    def _entries(self, here: _Folder) -> list[_Entry]:
        """Return the entries of a folder in reverse order, and its unread ignore files."""
        try:
            descriptor = open_below(here.root, here.below, FOLDER_FLAGS)
            try:
                if self.places is not None:
                    self.places[f"{here.root}{here.below}".rstrip("/")] = os.fstat(descriptor)
                with os.scandir(descriptor) as scanned:
                    entries = sorted(scanned, key=_entry_key, reverse=True)
            finally:
                os.close(descriptor)
        except OSError as error:
            return [(here, LeftOut.because(here.path("") or ".", error))]
        names = [] if self.options.no_ignore else [entry.name for entry in entries]
        rules, faults = here.rules.with_files(here.root, here.below, names, self._note)
        here = replace(here, rules=rules)
        result: list[_Entry] = [(here, entry) for entry in entries if entry.name not in faults]
        for name, fault in faults.items():
            result.append((here, LeftOut.because(here.path(name), fault)))
        return result

    def _note(self, place: str) -> None:
        """Record the status of a place."""
        if self.places is not None:
            try:
                self.places[place] = os.lstat(place)
            except OSError:
                self.places[place] = None

    def _visit(self, here: _Folder, entry: os.DirEntry[str] | LeftOut) -> Found | list[_Entry]:
        """Return a file, why it is skipped, or the entries of a folder."""
        if isinstance(entry, LeftOut):
            return entry
        path, folder = here.path(entry.name), entry.is_dir(follow_symlinks=False)
        if entry.name.startswith("."):
            return LeftOut(path, *IS_HIDDEN)
        if here.rules.hides(entry.name, folder):
            remedy = f"include it with {flag('no_ignore')}"
            return LeftOut(path, "ignored by .gitignore or .ignore", remedy)
        if entry.is_symlink():
            return LeftOut(path, "a symbolic link", "name its target")
        if folder:
            below, rules = f"{here.below}{entry.name}/", here.rules.in_subfolder(entry.name)
            return self._entries(replace(here, below=below, rules=rules))
        if not entry.is_file(follow_symlinks=False):
            return LeftOut(path, *NOT_REGULAR)
        real = here.root + here.below + entry.name
        if real in self.outputs:
            return LeftOut(path, "the output itself", "write it to another folder")
        if is_packed(path):
            return LeftOut(path, "an archive or compressed", "name it too")
        try:
            return Source(path, real, status=os.lstat(real), root=here.root)
        except OSError as error:
            return LeftOut.because(path, error)


@dataclass(frozen=True)
class _Folder:
    """A folder of a walk."""

    shown: str  # how the paths of its files begin, for the user
    root: str  # the real path of the folder in which the walk began
    below: str  # its path from there
    rules: IgnoreRules

    def path(self, name: str) -> str:
        """Return the path of an entry, as it is shown."""
        return readable_path(f"{self.shown}{self.below}{name}")


_Entry = tuple[_Folder, os.DirEntry[str] | LeftOut]  # a folder, and what is in it


def _entry_key(entry: os.DirEntry[str]) -> bytes:
    return _path_key(entry.name, entry.is_dir(follow_symlinks=False))


def _path_key(path: str, is_folder: bool) -> bytes:
    """Return the key that sorts whole paths: `a.py` before the files in the folder `a`."""
    return os.fsencode(os.path.join(path, "") if is_folder else path)


def named_paths(paths: Sequence[str]) -> Iterator[str]:
    """Yield the paths of the command. Errors: a wrong name, before any work is done."""
    for path in paths:
        if path == "-":
            data = read_stdin()
            names = data.split(b"\0" if b"\0" in data else b"\n")
            yield from (os.fsdecode(name) for name in names if name)
        elif os.path.lexists(path):
            yield path
        else:
            raise UserError("does not exist", "check the name").at(readable_path(path) or "PATH")


def is_packed(path: str) -> bool:
    """Return whether a name is an archive's, or a compressed file's.

    >>> is_packed("a.tar.gz"), is_packed("a.gz"), is_packed("a.py")
    (True, True, False)
    """
    return path.lower().endswith((*ZIP_ENDINGS, *TAR_ENDINGS, *WARC_ENDINGS, *OPENERS))


class Member(NamedTuple):
    """One file in an archive."""

    name: str
    open: Callable[[], IO[bytes] | None]
    special: bool  # a link or a device


@dataclass(frozen=True)
class Archive:
    """An archive or a compressed file, by the path under which its files are shown.

    Its files were chosen when it was packed: its ignore files do not count.
    """

    shown: str
    maximum: int  # bytes of a file; one more is read, which shows that it is larger
    addresses: UniqueNames  # of captures, in whatever files they are

    def sources(self, path: str) -> Iterator[Found]:
        """Yield all files, sorted by path; those of a compressed tar or WARC in its own order."""
        name = path.lower()
        if name.endswith((*ZIP_ENDINGS, *TAR_ENDINGS)):
            refuse_pipe(path, "an archive")
        try:
            if name.endswith(WARC_ENDINGS):
                with open(path, "rb") as handle:
                    yield from self._pages(handle)
            elif name.endswith(ZIP_ENDINGS):
                with zipfile.ZipFile(path) as zipped:
                    if name.endswith(WACZ_ENDING):
                        yield from self._crawls(zipped)
                    elif name.endswith(EPUB_ENDING) and (chapters := chapters_of(zipped)):
                        yield from self._chapters(zipped, chapters)
                    else:
                        yield from self._files(_zip_members(zipped))
            elif name.endswith(TAR_ENDINGS):
                packed = _open_zstd(path) if name.endswith(ZSTD_ENDINGS) else open(path, "rb")
                with packed, tarfile.open(fileobj=packed) as unpacked:
                    yield from self._files(_tar_members(unpacked, name))
            else:
                stem, ending = posixpath.splitext(posixpath.basename(self.shown))
                with OPENERS[ending.lower()](path) as handle:
                    yield Source(f"{self.shown}/{stem}", data=handle.read(self.maximum + 1))
        except UserError:  # the extra is missing
            raise
        except Exception as error:  # a library may raise any for what is cut, damaged or locked
            yield LeftOut.because(self.shown, error)

    def _files(self, members: Iterator[Member]) -> Iterator[Found]:
        # the later one of two with the same name counts, as in unpacking
        by_name: dict[str, Member] = {}
        for member in members:
            # some programs on Windows write backslashes
            name = posixpath.normpath(member.name.replace("\\", "/"))
            if name in (".", "..") or name.startswith(("/", "../")):
                yield LeftOut.because(f"{self.shown}/{readable_path(member.name)}", LEADS_OUTSIDE)
            else:
                by_name[name] = member._replace(name=name)
        yield from map(self._file, by_name.values())

    def _file(self, member: Member) -> Found:
        path = f"{self.shown}/{readable_path(member.name)}"
        if any(part.startswith(".") for part in member.name.split("/")):
            return LeftOut(path, *IS_HIDDEN)
        if member.special:
            # the target of a link is read under its own name, if it is in the archive
            return LeftOut(path, "a link or a device in an archive", "leave it out")
        if is_packed(path):
            return LeftOut(path, *IS_PACKED_INSIDE)
        try:
            with member.open() or io.BytesIO() as handle:
                return Source(path, data=handle.read(self.maximum + 1))
        except Exception as error:
            return LeftOut.because(path, error)

    def _chapters(self, zipped: zipfile.ZipFile, chapters: Sequence[Chapter]) -> Iterator[Found]:
        """Yield the chapters of a book in its reading order, without its index and styles."""
        for chapter in chapters:
            found = self._file(Member(chapter.path, partial(zipped.open, chapter.path), False))
            if isinstance(found, Source):
                found = replace(found, media=chapter.media, book=chapter.book)
            yield found

    def _crawls(self, zipped: zipfile.ZipFile, is_inner: bool = False) -> Iterator[Found]:
        """Yield the pages of every WARC, and those of the WACZ files in a collection."""
        endings = (*WARC_ENDINGS, WACZ_ENDING)
        crawls = [info for info in zipped.infolist() if info.filename.lower().endswith(endings)]
        for info in crawls:
            crawl = replace(self, shown=f"{self.shown}/{info.filename}")
            try:
                with zipped.open(info) as handle:
                    if crawl.shown.lower().endswith(WARC_ENDINGS):
                        yield from crawl._pages(handle)
                    elif is_inner:
                        yield LeftOut(crawl.shown, *IS_PACKED_INSIDE)
                    else:
                        with zipfile.ZipFile(handle) as inner:
                            yield from crawl._crawls(inner, is_inner=True)
            except Exception as error:  # of this file; the others are read
                yield LeftOut.because(crawl.shown, error)
        if not crawls:
            why = UserError("holds no WARC", "look at it with unzip -l")
            yield LeftOut.because(self.shown, why)

    def _pages(self, handle: IO[bytes]) -> Iterator[Found]:
        """Yield the pages of a crawl, each under its address, later captures with a number."""
        for capture in captures(handle, self.maximum):
            path = self.addresses.take(capture.address) if capture.address else self.shown
            if capture.problem:
                yield LeftOut.because(path, capture.problem)
            elif capture.data is None:
                yield LeftOut(path, "an error page of a server", "leave it out")
            else:
                yield Source(path, data=capture.data, media=capture.media)


def _zip_members(packed: zipfile.ZipFile) -> Iterator[Member]:
    for info in sorted(packed.infolist(), key=lambda info: os.fsencode(info.filename)):
        if not info.filename.endswith(("/", "\\")):
            is_link = (info.external_attr >> 28) == 0o12  # the type in the mode of a Unix file
            yield Member(info.filename, partial(packed.open, info), is_link)


def _tar_members(unpacked: tarfile.TarFile, name: str) -> Iterator[Member]:
    infos = [info for info in unpacked.getmembers() if not info.isdir()]
    files = {info.name for info in infos if info.isreg()}
    if name.endswith(".tar"):  # only a plain one can be read in any order
        infos.sort(key=lambda info: os.fsencode(info.name))
    for info in infos:
        # the second name of a file is a hard link to the first one
        is_file = info.isreg() or (info.islnk() and info.linkname in files)
        yield Member(info.name, partial(unpacked.extractfile, info), not is_file)
