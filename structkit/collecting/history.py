"""The history of a git repository: its commits, and the functions that each of them changed.

A repository may be anybody's, and everybody's git has other settings. So git reads the objects of a
repository from a folder of our own: there is no configuration, attribute, hook, filter, remote,
replaced or grafted commit that could change the output, start a program or block.
"""

import os
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, run
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, NamedTuple

import orjson

from structkit.collecting.ignoring import common_folder, git_folder
from structkit.collecting.units import Collected, Collector
from structkit.collecting.walking import LeftOut, Source, readable_path
from structkit.errors import UserError
from structkit.paths import NOT_REGULAR
from structkit.records.jsonl import Record, Shard
from structkit.records.output import dump

GIT_CONFIG = "[core]\nrepositoryFormatVersion=1\nbare=true\n[extensions]\n"
# what the configuration of a repository says about the form of its files
FORM_SETTINGS = re.compile(
    r"^[ \t]*(?:objectFormat|refStorage)[ \t]*=.*", re.IGNORECASE | re.MULTILINE
)
LOG_ARGUMENTS = (
    "-c core.commitGraph=false log -z --no-merges --raw --no-abbrev -l1000 --find-renames "
    "--diff-filter=AMR --ignore-submodules=all --format=tformat:%H%x00%B%x00"
).split()
# GIT_ALLOW_PROTOCOL: for git before 2.44
GIT_ENVIRONMENT = dict(
    setting.split("=")
    for setting in f"""
        GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1
        GIT_ALLOW_PROTOCOL=none GIT_CONFIG_NOSYSTEM=1 HOME={os.devnull}
        XDG_CONFIG_HOME={os.devnull} LC_ALL=C
    """.split()
)
Process = Popen[bytes]
GIT_BLOCK_BYTES = 1 << 16  # bytes that are read at a time
FILE_MODE_PREFIX = "100"  # start of the modes of files; links and submodules have others
# functions, and files, of a commit; a message about more does not describe one of them
MAX_PER_COMMIT = 50
BEGINS_SHALLOW_CLONE = "the beginning of a shallow clone", "fetch the commits before it with git"


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

    @property
    def short(self) -> str:
        """The beginning of its number, in ids."""
        return self.id[:12]


@dataclass(frozen=True)
class Repository:
    """The objects of a repository, and the commits of a folder in it."""

    folder: str
    head: str
    below: str  # the folder's path in the repository
    shallow_commits: Collection[str]  # where a shallow clone begins, with all its files
    partial: bool  # a clone without the contents of some files
    environment: Mapping[str, str]

    @contextmanager
    def git(self, *arguments: str, stdin: int, stderr: int | IO[bytes]) -> Iterator[Process]:
        """Run git on the objects while the block runs."""
        command = ["git", *arguments]
        process = Popen(command, env=self.environment, stdin=stdin, stdout=PIPE, stderr=stderr)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def damage(self, what: str) -> UserError:
        """Return the error for what git cannot read."""
        problem, remedy = "has damaged or missing objects", "git fsck lists them"
        if self.partial:
            problem, remedy = "is a clone that lacks files", "clone it without a filter"
        return UserError(f"{problem} ({what})", remedy).at(self.folder)


@contextmanager
def open_repository(folder: str) -> Iterator[Repository]:
    """Yield the repository of a folder. Errors: git is missing, or there is no commit."""
    inherited = {name: os.environ[name] for name in os.environ if name[:4] != "GIT_"}
    environment = inherited | GIT_ENVIRONMENT
    shown = readable_path(folder)
    root, git = _find_git(os.path.realpath(folder), shown)
    shared = os.path.abspath(common_folder(git))
    for path in Path(shared).rglob("*"):
        if path.is_fifo() or path.is_char_device():  # git would wait for it
            raise UserError(*NOT_REGULAR).at(readable_path(str(path)))
    below = "" if root == git else os.path.relpath(os.path.realpath(folder), root) + "/"
    below = below.removeprefix("./")
    config = Path(shared, "config")
    settings = config.read_text("utf-8", "replace") if config.is_file() else ""
    with TemporaryDirectory(prefix="structkit-") as git_dir:
        Path(git_dir, "HEAD").write_bytes(Path(git, "HEAD").read_bytes())
        for name in ("refs", "packed-refs", "reftable", "shallow"):
            Path(git_dir, name).symlink_to(Path(shared, name))
        forms = "\n".join(FORM_SETTINGS.findall(settings))
        Path(git_dir, "config").write_text(f"{GIT_CONFIG}{forms}\n")
        objects = os.path.join(shared, "objects")
        environment |= {"GIT_DIR": git_dir, "GIT_OBJECT_DIRECTORY": objects}
        try:
            head = run(
                ["git", "rev-parse", "HEAD"], env=environment, stdin=DEVNULL, capture_output=True
            )
        except FileNotFoundError:
            raise UserError("git is missing", "install it, and name it in PATH") from None
        if head.returncode:
            raise _no_history(_git_reason(head.stderr)).at(shown)
        shallow = Path(git_dir, "shallow")
        shallow_commits = shallow.read_text("ascii", "replace").split() if shallow.is_file() else []
        partial = any(Path(objects, "pack").glob("*.promisor"))
        yield Repository(
            shown, head.stdout.decode().strip(), below, shallow_commits, partial, environment
        )


def _find_git(folder: str, shown: str) -> tuple[str, str]:
    """Return the root of a folder's repository and git's folder: the same without working tree."""
    for root in (folder, *map(str, Path(folder).parents)):
        for git in (git_folder(root), root):
            shared = common_folder(git)
            folders = [os.path.join(shared, name) for name in ("objects", "refs")]
            if os.path.isfile(os.path.join(git, "HEAD")) and all(map(os.path.isdir, folders)):
                return root, os.path.abspath(git)
    raise _no_history("no git repository").at(shown)


def _no_history(reason: str) -> UserError:
    return UserError(f"has no history ({reason})", "name a git repository with a commit")


def _git_reason(errors: bytes) -> str:
    """Return why git failed, in one line.

    >>> _git_reason(b"warning: x fatal: dubious ownership     To add one, call: git config x ")
    'fatal: dubious ownership To add one, call: git config x'
    """
    words = " ".join(errors.decode("utf-8", "replace").split())
    return words[max(words.find("fatal:"), 0) :] or "git failed"


def commits(source: Repository) -> Generator[Commit]:
    """Yield the commits that led to HEAD without merges, newest first, one at a time.

    Errors: a damaged repository.
    """
    scope = (f"--relative={source.below}", source.head, "--", f":(top,literal){source.below}")
    with (
        TemporaryFile() as errors,
        source.git(*LOG_ARGUMENTS, *scope, stdin=DEVNULL, stderr=errors) as process,
    ):
        assert process.stdout
        words, commit = _nul_separated(process.stdout), None
        for word in words:
            if word.startswith(b":"):
                _, mode, before, after, status = word.split()
                path = next(words)
                if status.startswith(b"R"):
                    path = next(words)
                if commit and mode.decode().startswith(FILE_MODE_PREFIX):
                    name = readable_path(os.fsdecode(path))
                    commit.changes.append(Change(before.decode(), after.decode(), name))
            elif word:
                if commit:
                    yield commit
                message = next(words).decode("utf-8", "replace").strip()
                commit = Commit(word.decode(), message)
        if process.wait():
            errors.seek(0)
            raise source.damage(_git_reason(errors.read()))
        if commit:
            yield commit


def _nul_separated(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the texts between NULs, without the line breaks before them."""
    rest = b""
    while block := stream.read(GIT_BLOCK_BYTES):
        *whole, rest = (rest + block).split(b"\0")
        for word in whole:
            yield word.removeprefix(b"\n")


class Blobs:
    """The contents of files in a repository, by their numbers."""

    def __init__(self, source: Repository, maximum: int) -> None:
        self.source, self.maximum = source, maximum
        self._running = ExitStack()
        self._process: Process | None = None

    def has_parents(self, commit: str) -> bool:
        """Return whether a commit follows others, which a shallow clone may lack."""
        return b"\nparent " in self.read(commit, b"commit").partition(b"\n\n")[0]

    def read(self, number: str, wanted: bytes = b"blob") -> bytes:
        """Return a blob, cut to `maximum` bytes and one. Errors: it is missing or damaged."""
        if not number.strip("0"):
            return b""
        if not self._process:
            git = self.source.git("cat-file", "--batch", stdin=PIPE, stderr=DEVNULL)
            self._process = self._running.enter_context(git)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests and answers
        try:
            requests.write(f"{number}\n".encode())
            requests.flush()
            *_, kind, size = answers.readline().split() or [b"", b""]
            if kind == wanted:
                data = answers.read(min(int(size), self.maximum + 1))
                unread = int(size) + 1 - len(data)  # a line break follows
                while unread and (more := answers.read(min(unread, GIT_BLOCK_BYTES))):
                    unread -= len(more)
                if not unread:
                    return data
        except BrokenPipeError:
            pass
        self.close()  # git ends at a damaged one
        raise self.source.damage(f"{wanted.decode()} {number}")

    def close(self) -> None:
        """End git, which is started again when it is needed."""
        self._running.close()
        self._process = None


class CommitTask(NamedTuple):
    """A commit, and its files with their contents before and after, or why it is skipped."""

    commit: Commit
    files: Sequence[tuple[str, bytes, bytes]] = ()
    left_out: LeftOut | None = None


def commit_tasks(
    folder: str, is_chosen: Callable[[str], bool], shard: Shard, maximum: int
) -> Generator[CommitTask]:
    """Yield a shard of the commits of a folder, with the files that `is_chosen` chooses."""
    with (
        open_repository(folder) as source,
        closing(Blobs(source, maximum)) as blobs,
        closing(commits(source)) as history,
    ):
        for commit in history:
            chosen = [change for change in commit.changes if is_chosen(change.path)]
            if not (chosen and commit.message and shard.holds(commit.id)):
                continue
            if commit.id in source.shallow_commits and blobs.has_parents(commit.id):
                yield CommitTask(commit, left_out=LeftOut(commit.short, *BEGINS_SHALLOW_CLONE))
            elif len(chosen) > MAX_PER_COMMIT:
                yield CommitTask(commit, left_out=_too_many(commit, "files"))
            else:
                try:
                    files = [
                        (change.path, blobs.read(change.before), blobs.read(change.after))
                        for change in chosen
                    ]
                    yield CommitTask(commit, files)
                except UserError as error:
                    if source.partial:
                        raise
                    yield CommitTask(commit, left_out=LeftOut.because(commit.short, error))


@dataclass
class CommitCollector:
    """Turns commits into records: one for each function that a commit added or changed."""

    collector: Collector
    root: str

    def __call__(self, task: CommitTask) -> Collected:
        if task.left_out:
            return Collected(1, left_out=[task.left_out])
        before, _ = self._functions([(path, old) for path, old, _ in task.files])
        after, left_out = self._functions([(path, new) for path, _, new in task.files])
        known = {(record["path"], record["hash"]) for record in before}
        changed = [each for each in after if (each["path"], each["hash"]) not in known]
        if len(changed) > MAX_PER_COMMIT:
            return Collected(1, left_out=[_too_many(task.commit, "functions")])
        lines = b""
        for function in changed:
            pair = {
                "id": f"{task.commit.short}:{function['id']}",
                "query": task.commit.message,
                "positive": function.pop("code"),
                "commit": task.commit.id,
            }
            lines += dump({**function, **pair})
        return Collected(1, lines, [each for each in left_out if each.fault])

    def _functions(self, files: Sequence[tuple[str, bytes]]) -> tuple[list[Record], list[LeftOut]]:
        """Return the functions in some files, and why others have none."""
        sources = [Source(os.path.join(self.root, path), data=data) for path, data in files if data]
        done = self.collector([*sources])
        return [orjson.loads(line) for line in done.output.splitlines()], done.left_out


def _too_many(commit: Commit, what: str) -> LeftOut:
    problem = f"changes more than {MAX_PER_COMMIT} {what}"
    return LeftOut(commit.short, problem, "leave files out with a glob")
