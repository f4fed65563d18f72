"""What can be spoiled: fields of records, files, folders of models and indexes, flags."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import Case, Scene
from ..sessions import Session
from .files import file_cases
from .flags import flag_cases
from .records import record_cases


def cases(sessions: list[Session]) -> Iterator[Case]:
    """All cases of all sessions; the flags of a command are spoiled in its first session."""
    shown = set()
    for session in sessions:
        yield Case(session, "nothing", "good", untouched, statuses=frozenset({0}))
        for kind in (record_cases, file_cases):
            yield from kind(session)
        yield from flag_cases(session, everything=session.command not in shown)
        shown.add(session.command)


def untouched(scene: Scene) -> None:
    """Spoil nothing: the session works."""
