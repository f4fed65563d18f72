"""Writing: records as JSONL or a table; files, sets of them and folders appear whole or not at all.

Output is hidden beside its target until it is complete. It is created anew without following links,
whoever can write to the folder; leftovers of dead processes are removed.
"""

import errno
import fcntl
import glob
import gzip
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedRandom, BufferedWriter, FileIO, StringIO
from pathlib import Path
from threading import Timer
from typing import IO, Any, Self, cast

import orjson

from structkit.errors import UserError, flag
from structkit.paths import descriptor_named
from structkit.progress import NO_CHARACTERS, Terminal, say
from structkit.records.jsonl import BUFFER_BYTES, Record

MAX_NAME_BYTES = 255  # bytes of a name, if the system gives no limit
MAX_SILENT_SECONDS = 1.0  # that another process may hold a lock before a line says so
PARTIAL_FILE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_TABLE_CHARACTERS = 10_000  # of a table that has no terminal's width
# names of the two folders in the place where a folder is made
NEW_FOLDER = "new"
OLD_FOLDER = "old"


def cannot_write(error: OSError, name: str = "output") -> UserError:
    """Return the error for an output that the system refuses to write.

    >>> print(cannot_write(PermissionError(errno.EACCES, "Permission denied")))
    cannot be written: Permission denied; give -o a place that exists, has room and may be written
    """
    if isinstance(error, IsADirectoryError):
        return UserError("is the name of a folder", f"give {flag(name)} the name of a file")
    return UserError(
        f"cannot be written: {error.strerror or error}",
        f"give {flag(name)} a place that exists, has room and may be written",
    )


def write_error(error: OSError, path: str, name: str = "output") -> Exception:
    """Return the error with its place and a remedy, or a closed pipe's as it is."""
    if isinstance(error, BrokenPipeError):
        return error
    return cannot_write(error, name).at("stdout" if path == "-" else path)


@contextmanager
def write_errors(path: str, name: str = "output") -> Iterator[None]:
    """Raise with a remedy if the system refuses to write, except to a closed pipe."""
    try:
        yield
    except OSError as error:
        raise write_error(error, path, name) from None


class WholeFile:
    """File that is written beside its target, and takes its name with `keep`.

    Errors: `OSError`.
    """

    def __init__(self, target: str | Path) -> None:
        # a link stays a link: the file that it points to is replaced
        self.target = os.path.realpath(target)
        refuse_name(self.target)
        if os.path.isdir(self.target) or str(target).endswith(("/", "/.")):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self.partial = partial_of(self.target)
        self.kept = False
        remove(self.partial)
        descriptor = os.open(self.partial, PARTIAL_FILE_FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # of the file that it replaces; a new one has that of umask
            os.chmod(descriptor, stat.S_IMODE(os.stat(self.target).st_mode))
        self.handle = BufferedRandom(FileIO(descriptor, "r+"), BUFFER_BYTES)

    def keep(self) -> None:
        """Close the file and give it its name."""
        self.handle.close()
        os.replace(self.partial, self.target)
        self.kept = True

    def drop(self) -> None:
        """Remove the file, unless it was kept."""
        if not self.kept:
            with suppress(OSError):  # buffered data may not fit on the disk
                self.handle.close()
            remove(self.partial)


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces an older one once it is complete on the disk.

    Errors: `UserError` if it cannot be written; the older one then stays.
    """
    try:
        file = WholeFile(target)
        try:
            yield file.handle
            file.handle.flush()
            os.fsync(file.handle.fileno())
            file.keep()
        finally:
            file.drop()
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else a power failure may undo the new name
        finally:
            os.close(folder)
    except (OSError, RuntimeError) as error:
        cause = error if isinstance(error, OSError) else error.__context__  # torch.save hides it
        if not isinstance(cause, OSError):
            raise
        raise cannot_write(cause).at(str(target)) from None


def keep_together(files: Sequence[WholeFile], others: Iterable[str | Path] = ()) -> None:
    """Give the files of a set their names; `others` are of the set that was there before, and go.

    The old set goes before the new one comes, and its last file is the first to go and the last
    to come: no kill leaves parts of both, and readers that need that file never see a part of one.
    """
    for file in files:
        file.handle.close()
    old_paths = [*(file.target for file in reversed(files)), *others]
    for path in old_paths if len(old_paths) > 1 else []:
        if os.path.lexists(path):  # also false for a name that is too long
            os.unlink(path)
    for file in files:
        file.keep()


def refuse_existing(folder: str, name: str) -> None:
    """Raise if the folder exists already."""
    if os.path.lexists(folder):
        raise UserError(f"{folder} exists", f"name a new folder with {flag(name)}, or remove it")


@contextmanager
def whole_folder(folder: str | Path, name: str = "output") -> Iterator[Path]:
    """Open an empty folder to fill; at the end it gets its name and replaces an older one.

    Errors: `UserError` that names the setting, if the system refuses; then nothing has changed.
    """
    target = os.path.realpath(folder)
    partial = Path(partial_of(target))
    try:
        with write_errors(str(folder), name):
            refuse_name(target)
            remove(partial)
            (partial / NEW_FOLDER).mkdir(parents=True)
            yield partial / NEW_FOLDER
            replace_folder(partial / NEW_FOLDER, target, partial / OLD_FOLDER)
    finally:
        remove(partial)


@contextmanager
def new_folders(path: str | Path) -> Iterator[None]:
    """Make the folders that a path needs while the block runs; those that stay empty go again.

    Errors: `UserError` if the system refuses.
    """
    folders = Path(path).parents
    new = [folder for folder in folders if not folder.is_dir()]
    try:
        folders[0].mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(error).at(error.filename) from None
    try:
        yield
    finally:
        for folder in new:
            with suppress(OSError):  # it holds files
                folder.rmdir()


def replace_folder(new: str | Path, target: str | Path, old: str | Path) -> None:
    """Give a complete folder its name, and move the one that had the name before to `old`.

    Its files get the mode of umask, as the folder has: safetensors lets only their owner read them.
    """
    mode = os.stat(new).st_mode & 0o666
    for file in Path(new).rglob("*"):
        if file.is_file():
            file.chmod(mode)
    with suppress(FileNotFoundError):
        os.replace(target, old)
    try:
        os.replace(new, target)
    except OSError:
        with suppress(FileNotFoundError):
            os.replace(old, target)
        raise


def partial_of(target: str) -> str:
    """Return the hidden name beside a target, and remove those of dead processes."""
    start = beside(target, ".", LONGEST_PARTIAL_SUFFIX).removesuffix(LONGEST_PARTIAL_SUFFIX) + "."
    for leftover in glob.glob(f"{glob.escape(start)}*.partial"):
        number = leftover[len(start) :].removesuffix(".partial")
        if number.isdecimal() and not _is_running(int(number)):
            # it was killed between the two renames of a folder
            if not os.path.islink(leftover) and not os.path.lexists(target):
                with suppress(OSError):
                    os.replace(os.path.join(leftover, OLD_FOLDER), target)
            remove(leftover)
    return f"{start}{os.getpid()}.partial"


LONGEST_PARTIAL_SUFFIX = ".4194304.partial"  # with the largest number that Linux gives a process


def beside(path: str | Path, start: str, end: str) -> str:
    """Return a path in the same folder, with a prefix and a suffix on its name.

    A name that no file system accepts is cut; a hash keeps it distinct.

    >>> beside("runs/bm25.jsonl", ".", ".partial")
    'runs/.bm25.jsonl.partial'
    >>> len(os.path.basename(beside("runs/" + 250 * "n", ".", ".partial")))
    255
    """
    folder, name = os.path.split(path)
    try:
        longest = os.pathconf(folder or ".", "PC_NAME_MAX")
    except (OSError, ValueError):
        longest = MAX_NAME_BYTES
    if len(os.fsencode(start + name + end)) > longest:
        whole = os.fsencode(name)
        end = f"~{hashlib.blake2b(whole, digest_size=8).hexdigest()}{end}"
        name = whole[: longest - len(start + end)].decode("utf-8", "ignore")
    return os.path.join(folder, start + name + end)


def refuse_name(path: str | Path) -> None:
    """Raise for a name that the system refuses, before any work is done. Errors: `OSError`."""
    with suppress(FileNotFoundError):
        os.lstat(path)


def lock(file: IO[bytes] | int, wait: str = "") -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    With a text, `wait` for the other process, and print the text if that takes long. Where files
    cannot be locked (some network file systems) no other process has.
    """
    with suppress(OSError):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                return False
            notice = Timer(MAX_SILENT_SECONDS, say, [wait])
            notice.daemon = True
            notice.start()
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            finally:
                notice.cancel()
    return True


@contextmanager
def exclusive_lock(path: str | Path, problem: str, remedy: str) -> Iterator[None]:
    """Hold a lock while the block runs; the file is removed at the end.

    Errors: `UserError` where another process holds it. A folder that cannot be written has no lock.
    """
    file = None
    with suppress(OSError):
        while True:
            file = os.open(path, PARTIAL_FILE_FLAGS | os.O_CREAT, 0o666)
            if not lock(file):
                os.close(file)
                raise UserError(problem, remedy)
            with suppress(FileNotFoundError):  # who had it before has removed it
                if os.path.samestat(os.fstat(file), os.lstat(path)):
                    break
            os.close(file)
    try:
        yield
    finally:
        if file is not None:
            remove(path)
            os.close(file)


def system_error(error: BaseException) -> OSError | None:
    """Return the error of the system, also from the text of an error of a Rust library.

    >>> system_error(ValueError("I/O error: No space left on device (os error 28)")).errno
    28
    """
    if isinstance(error, OSError):
        return error
    code = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(code[1]), os.strerror(int(code[1]))) if code else None


def remove(path: str | Path) -> None:
    """Remove a file, a link (not its target) or a folder, if it exists."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        os.unlink(path)


def _is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs, and is another user's
        pass
    return True


# numbers of 32 bits in their shortest form: half the bytes, and the same when read
DUMP_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY


def dump(record: object) -> bytes:
    r"""Return the line of a record, or of another value.

    >>> dump({"id": "é", "number": 2**70})
    b'{"id":"\xc3\xa9","number":1180591620717411303424}\n'
    """
    try:
        return orjson.dumps(record, option=DUMP_OPTIONS)
    except TypeError:  # an integer beyond 64 bits
        line = json.dumps(
            record, ensure_ascii=False, separators=(",", ":"), default=lambda row: row.tolist()
        )
        return line.encode() + b"\n"


class Output:
    """File that appears whole or not at all, or stdout (`-`); `name` is its setting's.

    A terminal gets no control characters, except those of the pattern `kept`.
    """

    def __init__(self, path: str = "-", name: str = "output", kept: str = NO_CHARACTERS) -> None:
        self.path, self.name, self.kept = path, name, kept
        self.whole: WholeFile | None = None
        with write_errors(path, name):
            self.handle = self._open()

    def _open(self) -> IO[bytes]:
        descriptor = 1 if self.path == "-" else descriptor_named(self.path)
        if descriptor is not None:
            if os.isatty(descriptor):  # a person sees each record at once, a pipe gets blocks
                return cast(IO[bytes], Terminal(descriptor, self.kept))
            return open(descriptor, "wb", buffering=BUFFER_BYTES, closefd=False)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            return BufferedWriter(Terminal(self.path, self.kept), BUFFER_BYTES)  # a device, a pipe
        self.whole = WholeFile(self.path)
        if self.whole.target.endswith(".gz"):
            # no name and no time inside: the same records give the same bytes
            return cast(IO[bytes], gzip.GzipFile("", "wb", 6, self.whole.handle, 0))
        return self.whole.handle

    def write(self, data: bytes) -> None:
        self.write_records([data])

    def write_records(self, records: Iterable[Record] | Iterable[bytes]) -> None:
        """Write records, one per line; or lines of records as they are."""
        write, dumps, line_end = self.handle.write, orjson.dumps, DUMP_OPTIONS
        for record in records:
            if isinstance(record, bytes):  # orjson would import numpy first, which takes 0.2 s
                line = record
            else:
                try:
                    line = dumps(record, None, line_end)
                except TypeError:
                    line = dump(record)
            try:  # not around the loop: an error that `records` raises is not about the output
                write(line)
            except OSError as error:
                raise write_error(error, self.path, self.name) from None

    def flush(self) -> None:
        """Hand written data to the system, so that a full disk is noticed now."""
        with write_errors(self.path, self.name):
            self.handle.flush()

    def close(self) -> None:
        """Write all that is left to write; the file gets its name later."""
        with write_errors(self.path, self.name):
            self.handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self.handle.close()  # flushes, so that stdout ends with a whole record
            if self.whole and kind is None and not self.whole.kept:
                self.whole.keep()
        except OSError as problem:
            if kind is None:
                raise write_error(problem, self.path, self.name) from None
        finally:
            if self.whole:
                self.whole.drop()


def write_records(records: Iterable[Record], path: str = "-") -> None:
    """Write records as JSONL to a file, whole or not at all, or to stdout."""
    with Output(path) as output:
        output.write_records(records)


def write_drawn(
    records: Iterable[Record],
    path: str,
    draw: Callable[[list[Record], int | None], str],
    *,
    always: bool = False,
) -> None:
    """Write records as JSONL, or as `draw` makes a table of them where stdout is a terminal.

    `draw` gets the width of the terminal; with `always` it draws for files and pipes too.
    """
    is_terminal = path == "-" and os.isatty(1)
    if always or is_terminal:
        width = shutil.get_terminal_size().columns if is_terminal else None
        with Output(path) as output:
            output.write((draw(list(records), width) + "\n").encode())
    else:
        write_records(records, path)


def format_table(records: Iterable[Record], names: Sequence[str], width: int | None = None) -> str:
    """Return a table of some fields, with a header; the last column is folded to the width.

    >>> print(format_table([{"kind": "language", "name": "go"}], ("kind", "name")))
    kind      name
    language  go
    """
    from rich.console import Console  # 30 ms that other commands need not pay
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    for name in names:
        table.add_column(name, no_wrap=name != names[-1], overflow="fold")
    for record in records:
        table.add_row(*(str(record[name]) for name in names))
    text = StringIO()
    console = Console(file=text, width=width or MAX_TABLE_CHARACTERS, markup=False, emoji=False)
    console.print(table, highlight=False)
    return "\n".join(map(str.rstrip, text.getvalue().splitlines()))


def write_summary(record: Record) -> None:
    """Write a command's summary of its complete output to stdout, if that is open."""
    if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
        write_records([record])


def write_json(file: Path, content: object) -> None:
    """Write a JSON file that people can read too: indented, with a final newline."""
    file.write_bytes(indented(content))


def as_text(value: object) -> str | None:
    """Return a value of a text column.

    >>> as_text("go"), as_text([1, 2]), as_text(None)
    ('go', '[1,2]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return dump(value)[:-1].decode()


def indented(content: object) -> bytes:
    """Return JSON that people can read too, with a final newline."""
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
