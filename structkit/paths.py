"""Paths: the user's folders; no command writes to what it reads, and no walk follows a link.

The folders follow the XDG Base Directory Specification.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import BinaryIO

from structkit.errors import UserError, flag, wrong_usage

MAX_LINKS = 40  # on the way to a file: a system follows no more
OTHER_PATH = "choose another path"
NOT_REGULAR = "not a regular file", "write its content to a file"

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NO_FOLLOW_FLAGS = (
    os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # a pipe without a writer is not waited for


def cache_folder(*names: str) -> Path:
    """Return a folder of structkit for what can be made again."""
    return _folder("XDG_CACHE_HOME", Path(".cache"), names)


def data_folder(*names: str) -> Path:
    """Return a folder of structkit for what the user keeps."""
    return _folder("XDG_DATA_HOME", Path(".local", "share"), names)


def _folder(variable: str, usual: Path, names: tuple[str, ...]) -> Path:
    given = os.environ.get(variable, "")
    # the specification ignores a path that is not absolute
    base = Path(given) if os.path.isabs(given) else home() / usual
    return base.joinpath("structkit", *names)


def home() -> Path:
    """Return the user's home folder, or a place that holds nothing.

    An empty HOME, as some services and `env HOME=` set it, does not name the folder `/`.
    """
    given = os.environ.get("HOME", "")
    if not os.path.isabs(given):
        with suppress(KeyError):  # a user that the system does not know
            given = pwd.getpwuid(os.getuid()).pw_dir
    return Path(given if os.path.isabs(given) else os.devnull)


def ignore_relative_folders() -> None:
    """Remove relative folders from the user's variables, for libraries that write files.

    Otherwise they keep them in `/`, or wherever the program is started.
    """
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        if not os.path.isabs(os.environ.get(name, "/")):
            del os.environ[name]


def move_torch_cache() -> None:
    """Let torch keep what it compiles in the user's cache, not in a temporary folder.

    Torch makes the folder when it is imported; if it cannot, torch's own default stays.
    """
    folder = cache_folder("torch")
    existing = next(parent for parent in folder.parents if os.path.exists(parent))
    if os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK):
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


def keep_apart(
    writes: Iterable[tuple[str, str | None]],
    reads: Iterable[str | None],
    *,
    replaced: Sequence[str | None] = (),
) -> None:
    """Raise if a path that is written is also read or written twice, or a pipe is read twice.

    `writes` are flags with their paths, `reads` are paths; None is skipped, `-` is stdout or stdin.
    A folder is written with all that is in it. `replaced` are inputs that `-o` may replace once
    everything is read.
    """
    written = [_PathTarget.of(path, name) for name, path in writes if path is not None]
    read = [_PathTarget.of(name) for name in (*reads, *replaced) if name is not None]
    read_once = set[object]()  # pipes; None for stdin that is none
    output_flag = flag("output")
    for source in read:
        if source.pipe or source.name == "-":
            if source.pipe in read_once:
                raise wrong_usage(f"{source} is read twice", "give a file for one of them")
            read_once.add(source.pipe)
    for output, source in product(written, read):
        same = output.is_same(source)
        may_replace = output.flag == output_flag and output.name != "-" and source.name in replaced
        if source.number and output.touches(source) and not (same and may_replace):
            relation = "is the input {}" if same else "and the input {}: one is inside the other"
            raise wrong_usage(f"{output} {relation.format(source)}", OTHER_PATH)
    for output, other in combinations(written, 2):
        if output.flag != other.flag and output.touches(other):
            raise wrong_usage(f"{output} and {other}: one is the other, or inside it", OTHER_PATH)


class Named(str):
    """Path of a file with a name to show, for what a program holds in memory."""

    name: str

    def __new__(cls, path: str, name: str = "") -> Named:
        """Make a path with the name to show for it."""
        made = super().__new__(cls, path)
        made.name = name
        return made


def names_of(files: Sequence[str], stdin: str = "-") -> list[str]:
    """Return the names to show for files: without folders and endings, if they stay distinct.

    >>> names_of(["runs/bm25.jsonl.gz", "runs/santa.trec"])
    ['bm25', 'santa']
    """
    short = [stdin if file == "-" else Path(file).name.partition(".")[0] for file in files]
    named = [getattr(file, "name", name) for file, name in zip(files, short, strict=True)]
    return named if len(set(named)) == len(files) else list(files)


def descriptor_named(path: str) -> int | None:
    """Return the number of this process's open file that a path names, such as `/dev/stdout`.

    Opening that name would begin the file anew and lose what a shell wrote to it before.

    >>> descriptor_named("/dev/stderr"), descriptor_named("/dev/fd/1"), descriptor_named("a/1")
    (2, 1, None)
    """
    descriptor_folder = os.path.realpath("/dev/fd")
    for _ in range(MAX_LINKS):
        folder, name = os.path.split(path)
        if name.isdecimal() and os.path.realpath(folder) == descriptor_folder:
            return int(name)
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def is_pipe(name: str) -> bool:
    """Return whether an input can be read only once, from its beginning to its end."""
    try:
        status = os.fstat(0) if name == "-" else os.stat(name)
    except OSError:
        return False
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)


def refuse_pipe(name: str, kind: str) -> None:
    """Raise for a pipe where files of a kind are not read from the beginning to the end."""
    if is_pipe(name):
        raise wrong_usage(
            f"is a pipe, and {kind} is read in any order",
            "write it to a file, and name that",
        ).at(name)


def open_below(root: str, below: str, flags: int = os.O_RDONLY) -> int:
    """Open a path below a folder without following links. Errors: `OSError`."""
    *folders, name = below.strip("/").split("/")
    outer = os.open(root, FOLDER_FLAGS)
    try:
        for folder in folders:
            inner = os.open(folder, FOLDER_FLAGS | NO_FOLLOW_FLAGS, dir_fd=outer)
            os.close(outer)
            outer = inner
        return os.open(name or ".", flags | NO_FOLLOW_FLAGS, dir_fd=outer)
    finally:
        os.close(outer)


def open_found(root: str, below: str) -> BinaryIO:
    """Open a file that was found in a folder, at this path below it.

    Errors: `UserError` if it is not, or no longer, a regular file; `OSError` if it cannot be read.
    """
    try:
        handle = open(open_below(root, below), "rb")
    except OSError as error:
        # a link; a link or file instead of a folder; a socket; a folder
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR):
            raise UserError(*NOT_REGULAR) from None
        raise
    if stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        return handle
    handle.close()
    raise UserError(*NOT_REGULAR)


@dataclass(frozen=True)
class _PathTarget:
    """Target of a path, through links, with device and inode number if it stores data."""

    name: str
    flag: str = ""  # that names it, if it is written
    path: str = ""
    number: tuple[int, int] | None = None
    pipe: tuple[int, int] | None = None  # its number, if it can be read once

    @classmethod
    def of(cls, name: str, flag: str = "") -> _PathTarget:
        """Return the place of a file; `-` is stdin, or stdout for a flag that is written."""
        descriptor = 1 if flag else 0
        name = "-" if flag and descriptor_named(name) == 1 else name
        path = os.path.realpath(f"/dev/fd/{descriptor}" if name == "-" else name)
        try:
            status = os.fstat(descriptor) if name == "-" else os.stat(name)
        except OSError:
            return cls(name, flag, path)
        number = status.st_dev, status.st_ino
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            return cls(name, flag, path, number)
        return cls(name, flag, pipe=number if is_pipe(name) else None)  # a device keeps nothing

    def __str__(self) -> str:
        if self.name == "-":
            return "stdout" if self.flag else "stdin"
        return f"{self.flag} {self.name}".lstrip()

    def is_same(self, other: _PathTarget) -> bool:
        if self.number and self.number == other.number:
            return True
        return bool(self.path) and self.path == other.path

    def touches(self, other: _PathTarget) -> bool:
        """Return whether they are the same, or one is inside the other."""
        paths = [target.path for target in (self, other) if target.path]
        return self.is_same(other) or (len(paths) == 2 and os.path.commonpath(paths) in paths)
