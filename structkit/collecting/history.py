"""The history of a git repository: its commits, and the functions that each of them changed.

A repository may be anybody's: no hook, pager, signature, external diff or remote is used, whatever
its configuration says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, NamedTuple

import orjson

from structkit.collecting.units import Collected, Collector
from structkit.collecting.walking import LeftOut, Source, readable_path
from structkit.errors import UserError
from structkit.records.jsonl import Record
from structkit.records.output import dump

SAFE = (
    *("--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never", "-c", "core.quotePath=false"),
)
LOG = (
    *("log", "-z", "--no-merges", "--raw", "--no-abbrev", "--find-renames", "--diff-filter=AMR"),
    *("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color", "--no-mailmap"),
    *("--no-notes", "--relative", "--ignore-submodules=all", "--encoding=UTF-8"),
    "--format=tformat:%H%x00%B%x00",
)
ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
Process = Popen[bytes]
BLOCK = 1 << 16  # bytes that are read at a time
FILE = "100"  # start of the modes of files; links and submodules have others
MOST = 50  # functions, and files, of a commit; a message about more does not describe one of them
ABBREVIATED = 12  # digits of a commit in ids


class Change(NamedTuple):
    """A file that a commit added or changed: its blobs, and its path after it."""

    before: str
    after: str
    path: str


@dataclass
class Commit:
    """A commit: its number, its subject and body, the files that it added or changed."""

    id: str
    message: str
    changes: list[Change] = field(default_factory=list)


@contextmanager
def git(folder: str, *arguments: str, stdin: int, stderr: int) -> Iterator[Process]:
    """Run git in a folder while the block runs. Errors: git is missing."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    try:
        process = Popen(
            ["git", *SAFE, *arguments],
            cwd=folder,
            env=environment | ENVIRONMENT,
            stdout=PIPE,
            stdin=stdin,
            stderr=stderr,
        )
    except FileNotFoundError:
        raise UserError("git is missing", "install it, and name it in PATH") from None
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def commits(folder: str) -> Generator[Commit]:
    """Yield the commits that led to a folder's HEAD without merges, newest first, one at a time.

    Errors: no repository, or a damaged one.
    """
    with git(folder, *LOG, "HEAD", "--", ".", stdin=DEVNULL, stderr=PIPE) as process:
        assert process.stdout and process.stderr
        words, commit = _words(process.stdout), None
        for word in words:
            if word.startswith(b":"):
                _, mode, before, after, status = word.split()
                path = next(words)
                if status.startswith(b"R"):
                    path = next(words)
                if commit and mode.decode().startswith(FILE):
                    name = readable_path(os.fsdecode(path))
                    commit.changes.append(Change(before.decode(), after.decode(), name))
            elif word:
                if commit:
                    yield commit
                message = next(words).decode("utf-8", "replace").strip()
                commit = Commit(word.decode(), message)
        if commit:
            yield commit
        errors = process.stderr.read().decode("utf-8", "replace").strip()
        if process.wait():
            problem = f"has no history ({errors.splitlines()[-1] if errors else 'git failed'})"
            raise UserError(problem, "name a git repository with a commit").at(folder)


def _words(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the texts between NULs, without the line breaks before them."""
    rest = b""
    while block := stream.read(BLOCK):
        *whole, rest = (rest + block).split(b"\0")
        for word in whole:
            yield word.removeprefix(b"\n")
    if rest.strip():
        yield rest.strip()


class Blobs:
    """The contents of files in a repository, by their numbers."""

    def __init__(self, process: Process, maximum: int) -> None:
        assert process.stdin and process.stdout
        self._asked, self._told, self.maximum = process.stdin, process.stdout, maximum

    def read(self, number: str) -> bytes:
        """Return a blob, cut to `maximum` bytes and one; empty if it is missing."""
        if not number.strip("0"):
            return b""
        self._asked.write(f"{number}\n".encode())
        self._asked.flush()
        *_, kind, size = self._told.readline().split() or [b"", b"missing", b""]
        if kind != b"blob":
            return b""
        left = int(size) + 1  # a line break follows
        data = self._told.read(min(left, self.maximum + 1))
        left -= len(data)
        while left:
            left -= len(self._told.read(min(left, BLOCK)))
        return data[: int(size)]


# a commit, the number of its files, and each with its content before and after, unless too many
Task = tuple[Commit, int, list[tuple[str, bytes, bytes]]]


def tasks(
    folder: str, takes: Callable[[str], bool], mine: Callable[[str], bool], maximum: int
) -> Generator[Task]:
    """Yield the commits of a folder with the contents of the files that `takes` chooses.

    `mine` chooses commits by their numbers.
    """
    batch = git(folder, "cat-file", "--batch", stdin=PIPE, stderr=DEVNULL)
    with batch as process, closing(commits(folder)) as every:
        blobs = Blobs(process, maximum)
        for commit in every:
            chosen = [each for each in commit.changes if takes(each.path)]
            if len(chosen) > MOST:
                yield commit, len(chosen), []
            elif chosen and commit.message and mine(commit.id):
                contents = ((e.path, blobs.read(e.before), blobs.read(e.after)) for e in chosen)
                yield commit, len(chosen), list(contents)


@dataclass
class CommitCollector:
    """Turns commits into records: one for each function that a commit added or changed."""

    collector: Collector
    root: str

    def __call__(self, task: Task) -> Collected:
        commit, count, files = task
        short = commit.id[:ABBREVIATED]
        if count > MOST:
            return Collected(1, left_out=[_too_many(short, "files")])
        before, _ = self._functions([(path, old) for path, old, _ in files])
        after, left_out = self._functions([(path, new) for path, _, new in files])
        known = {(record["path"], record["hash"]) for record in before}
        changed = [each for each in after if (each["path"], each["hash"]) not in known]
        if len(changed) > MOST:
            return Collected(1, left_out=[_too_many(short, "functions")])
        lines = (dump(self._record(commit, short, each)) for each in changed)
        return Collected(1, b"".join(lines), [each for each in left_out if each.fault])

    def _functions(self, files: Sequence[tuple[str, bytes]]) -> tuple[list[Record], list[LeftOut]]:
        """Return the functions in some files, and why others have none."""
        sources = [Source(os.path.join(self.root, path), data=data) for path, data in files if data]
        done = self.collector([*sources])
        return [orjson.loads(line) for line in done.output.splitlines()], done.left_out

    @staticmethod
    def _record(commit: Commit, short: str, function: Record) -> Record:
        code = function.pop("code")
        pair = {"query": commit.message, "positive": code, "commit": commit.id}
        return {**function, "id": f"{short}:{function['id']}", **pair}


def _too_many(commit: str, what: str) -> LeftOut:
    problem = f"changes more than {MOST} {what}"
    return LeftOut(commit, problem, "leave files out with a glob")
