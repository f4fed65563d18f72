"""Rejected records: where they go, and how a command continues after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import orjson

from structkit.errors import UserError, flag
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.limits import is_deep
from structkit.records.output import Output

T = TypeVar("T")
Command = Callable[[Iterable[Record]], Iterator[Record]]


@dataclass(frozen=True)
class Rejected:
    """One record that was left out, and why."""

    error: UserError
    raw: bytes

    def record(self) -> Record:
        error = self.error
        try:
            content = orjson.loads(self.raw)
            if is_deep(content):
                content = self.raw.decode().rstrip("\n")
        except orjson.JSONDecodeError:
            content = self.raw.decode("utf-8", "replace").rstrip("\n")
        return {
            "file": error.file,
            "line": error.line,
            "reason": error.reason,
            "record": content,
        }


class Rejects:
    """Where rejected records go: an error, a file, or a count on stderr."""

    noun, told, most = (
        "record",
        "rejected",
        3,
    )  # how the count is reported, and with how many reasons

    def __init__(self, on_error: str = "fail", path: str | None = None) -> None:
        self.skip = on_error == "skip"
        if path and not self.skip:
            needed = flag("on_error", "skip")
            raise UserError(f"{flag('rejects')} needs {needed}", "add it", status=2)
        self.path = path
        self._silent = False
        self.reasons: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._output = Output(self.path, "--rejects") if self.path else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._output:
            self._output.__exit__(kind, error, trace)
        if kind is None:
            self.tell()

    def tell(self) -> None:
        """Say how many records there are, and why, unless it was said."""
        if (total := self.reasons.total()) and not self._silent:
            self._silent = True
            common = [f"{count:,} x {text}" for text, count in self.reasons.most_common(self.most)]
            more = "; …" if len(self.reasons) > self.most else ""
            plural = "" if total == 1 else "s"
            say(f"{total:,} {self.noun}{plural} {self.told} ({'; '.join(common)}{more})")

    def add(self, rejected: Rejected) -> None:
        """Keep the rejected record, or stop."""
        if not self.skip:
            raise rejected.error
        self.keep(rejected)

    def keep(self, rejected: Rejected) -> None:
        """Count the record, and write it if there is a file for it."""
        # what is in parentheses differs from line to line
        self.reasons[rejected.error.problem.partition(" (")[0]] += 1
        if self._output:
            self._output.write_records([rejected.record()])
            self._output.flush()  # what cannot be written is known before the records are


class Rows(Protocol):
    """Records, or rows of other tools' files; iterating again after an error continues after it."""

    count: int

    @property
    def raw(self) -> bytes:
        """The last row as it is in the file."""
        ...

    def __iter__(self) -> Iterator[Record]: ...

    def place(self, error: UserError) -> UserError:
        """The error with the place of the last row."""
        ...


def accepted(
    command: Callable[[Rows], Iterator[T]], records: Rows, reject: Callable[[Rejected], None]
) -> Iterator[T]:
    """What the command yields; where it raises, the record is rejected and the next one taken."""
    while True:
        try:
            yield from command(records)
            return
        except UserError as error:
            if error.status == 2 or (error.file and not error.line):
                raise  # wrong usage, or a file that cannot be read: no record is to blame
            reject(Rejected(records.place(error), records.raw))


def raising(rejected: Rejected) -> None:
    """Take no rejected record: raise its error."""
    raise rejected.error


class Tally(Protocol):
    """What a command counts besides its records; a new one has counted nothing."""

    def merge(self, other: Any) -> None:
        """Add what another of the same kind counted."""
        ...


def counting(command: Callable[..., Iterator[Record]], tally: Tally | None) -> Command:
    """The command with its tally, if it has one."""
    return command if tally is None else partial(command, tally=tally)
