"""What can be spoiled: fields of records, files, folders of models and indexes, flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..cases import REFUSED, Case, Scene
from ..sessions import Session
from .files import file_cases
from .flags import ANY, flag_cases
from .records import record_cases
from .tables import table_cases
from .vectors import vector_cases


def cases(sessions: list[Session]) -> Iterator[Case]:
    """All cases of all sessions; the flags of a command are spoiled in its first session.

    Of a command that no session shows, they are spoiled on a line without any input.
    """
    shown = set()
    for session in sessions:
        if session.bare:
            yield from bare_cases(session)
            continue
        yield Case(session, "nothing", "good", untouched, statuses=frozenset({0}))
        for kind in (record_cases, table_cases, vector_cases, file_cases):
            yield from kind(session)
        yield from flag_cases(session, everything=session.command not in shown)
        shown.add(session.command)


def bare_cases(session: Session) -> Iterator[Case]:
    """The flags of a command, on a line that lacks what it reads."""
    for case in flag_cases(session, everything=True):
        yield case if case.statuses == REFUSED else replace(case, statuses=ANY, names=())


def untouched(scene: Scene) -> None:
    """Spoil nothing: the session works."""
