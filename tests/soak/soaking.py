"""A soak: the store is made, cases are drawn, each runs in a folder of its own and is judged."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from .cases import Case, Scene, chosen
from .program import Outcome, forked, subprocessed, warm
from .sessions import make_store, sessions
from .spoilers import cases
from .verdicts import state, verdicts

REAL = 50  # every so many cases, a process of its own


@dataclass(frozen=True)
class Judged:
    """A case that ran: its command line, what came of it, what is wrong with that."""

    case: str
    command: str
    line: str
    outcome: Outcome
    findings: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.line:.500}",
            *(f"    {finding}" for finding in self.findings),
            f"    python -m tests.soak --case {shlex.quote(self.case)}",
        ]
        return "\n".join(lines).encode("utf-8", "backslashreplace").decode()


_inherited: list[Soaking] = []  # a forked process has it: cases cannot be pickled


def _inherit(soaking: Soaking) -> None:
    _inherited.append(soaking)


def _judge(number: int) -> Judged:
    return _inherited[0].judge(number)


class Soaking:
    """All cases of some sessions (by command or name) over one store, in one folder."""

    def __init__(self, folder: Path, only: Sequence[str] = (), *, keep: bool = False) -> None:
        self.folder, self.keep = folder, keep
        store = folder / "store"
        self.sessions = [
            session
            for session in sessions(store)
            if not only or {session.name, session.command[0], " ".join(session.command)} & {*only}
        ]
        warm(session.command[0] for session in self.sessions)
        if not store.exists():
            store.mkdir(parents=True)
            make_store(store, lambda *run: forked(*run, limit=60), self.sessions)
        self.cases = list(cases(self.sessions))
        self.chosen: Sequence[Case] = ()

    def named(self, name: str) -> list[Case]:
        """The cases of that name."""
        return [case for case in self.cases if case.name == name]

    def drawn(self, count: int, seed: int = 0) -> list[Case]:
        """So many cases, drawn by seed."""
        return chosen(self.cases, count, seed)

    def run(self, chosen: Sequence[Case], *, jobs: int = 1) -> list[Judged]:
        """Run cases, some at a time; what is found, and progress, goes to stderr as it comes."""
        self.chosen = chosen
        return list(self._told(self._judged(jobs)))

    def _judged(self, jobs: int) -> Iterator[Judged]:
        numbers = range(len(self.chosen))
        if jobs == 1:
            yield from map(self.judge, numbers)
        else:  # processes that fork have no threads
            with ProcessPoolExecutor(
                jobs, get_context("fork"), initializer=_inherit, initargs=(self,)
            ) as pool:
                yield from pool.map(_judge, numbers, chunksize=8)

    def _told(self, judged: Iterator[Judged]) -> Iterator[Judged]:
        for count, each in enumerate(judged, 1):
            if each.findings:
                print(f"\n{each}", file=sys.stderr, flush=True)
            if count % 500 == 0:
                print(f"{count:,} of {len(self.chosen):,}", file=sys.stderr)
            yield each

    def judge(self, number: int) -> Judged:
        """Run the case of that number, and judge what came of it."""
        case = self.chosen[number]
        judged = self._once(case, number)
        if judged.outcome.status is None:  # the machine may have been busy
            judged = self._once(case, number)
        return judged

    def _once(self, case: Case, number: int) -> Judged:
        folder = self.folder / f"case-{number}"
        shutil.rmtree(folder, ignore_errors=True)  # of a soak that was killed
        folder.mkdir()
        stdin = case.session.stdin
        case.session.copy(folder)
        scene = Scene(folder, list(case.session.arguments), folder / stdin if stdin else None)
        try:
            case.spoil(scene)
            before = state(folder)
            run = subprocessed if number % REAL == 1 else forked
            outcome = run(scene.arguments, folder, scene.stdin)
            found = tuple(verdicts(case, outcome, before, folder))
        finally:
            if not self.keep:
                shutil.rmtree(folder)
                shutil.rmtree(folder.with_name(f"{folder.name}.tmp"), ignore_errors=True)
        line = shlex.join(["structkit", *scene.arguments])
        line += f" < {scene.stdin.name}" if scene.stdin else ""
        return Judged(case.name, " ".join(case.session.command), line, outcome, found)
