"""One case: a session with one thing spoiled; and the choice of cases for a soak."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .sessions import Session

DATA = frozenset({0, 1})
USAGE = frozenset({0, 2})
REFUSED = frozenset({2})


@dataclass
class Scene:
    """A session's command line and the folder with its input, about to be spoiled."""

    folder: Path
    arguments: list[str]
    stdin: Path | None


@dataclass(frozen=True)
class Case:
    """What is spoiled where, how; an error is to name one of `names`, and to have a status."""

    session: Session
    place: str
    how: str
    spoil: Callable[[Scene], None] = field(repr=False)
    names: tuple[str, ...] = ()
    statuses: frozenset[int] = DATA
    skip: bool = False  # with `--on-error skip`
    replaces: tuple[str, ...] = ()  # inputs that the output may replace

    @property
    def name(self) -> str:
        """What `--case` takes."""
        skipping = " (skip)" if self.skip else ""
        return f"{self.session.name}{skipping} | {self.place} | {self.how}"


def chosen(cases: Iterable[Case], count: int, seed: int) -> list[Case]:
    """So many cases, drawn by seed: every place once before any place twice."""
    draw = random.Random(seed)
    places: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        places[*case.session.command, case.session.name, case.place].append(case)
    queues = list(places.values())
    draw.shuffle(queues)
    for queue in queues:
        draw.shuffle(queue)
    taken: list[Case] = []
    while queues and len(taken) < count:
        taken += [queue.pop() for queue in queues][: count - len(taken)]
        queues = [queue for queue in queues if queue]
    return taken
