"""Progress for people: on stderr, only when it is a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """How far a command is: records done, and the share of the input, where its size is known."""

    records: int
    done: float = 0.0
    total: float | None = None
    note: str = ""


@contextmanager
def progress(label: str, look: Callable[[], Position], *, quiet: bool = False) -> Iterator[None]:
    """Show what `look` returns, five times a second, while the block runs.

    The work itself pays nothing: a thread looks at its position from outside.
    """
    if quiet or not sys.stderr or not sys.stderr.isatty():
        yield
        return
    from rich import progress as rich  # 50 ms that only a terminal pays
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.TextColumn("{task.fields[records]:,} records, {task.fields[rate]:,.0f}/s"),
        rich.TextColumn("{task.fields[note]}"),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    stop = threading.Event()
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, records=0, rate=0.0, note="")

        def show() -> None:
            while not stop.wait(0.2):
                now = look()
                elapsed = bars.tasks[task].elapsed or 1e-9
                bars.update(
                    task,
                    completed=now.done,
                    total=now.total,
                    records=now.records,
                    rate=now.records / elapsed,
                    note=now.note,
                )

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def say(message: str) -> None:
    """One line for people, on stderr."""
    if sys.stderr:  # it may be closed, and print would then take stdout
        line = " ".join(message.split("\n"))
        print(f"structkit: {line}", file=sys.stderr)  # noqa: T201 the place where messages go
