"""What changed on the disk since a folder was read: told by the state of each file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from structkit.asking.place import Target
from structkit.asking.store import File
from structkit.collect.sources import LeftOut, Source
from structkit.collect.walking import Walk
from structkit.errors import UserError
from structkit.records.lines import cannot_read


@dataclass
class FileChanges:
    """Files that are as they were, those that may not be with their states, and those that went."""

    same: dict[str, File] = field(default_factory=dict)
    pending: list[tuple[Source, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    faults: list[UserError] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.pending or self.gone)


def changes(target: Target, walk: Walk, known: Mapping[str, File]) -> FileChanges:
    """What there is in a target, compared with what is known of it."""
    changed = FileChanges()
    seen: set[str] = set()
    for each in walk.sources([target.real]):
        path = target.within(each.path)
        if isinstance(each, LeftOut):
            if each.fault:
                changed.faults.append(each.error)
            continue
        if path in seen:  # bytes that are no UTF-8 look alike
            changed.faults.append(UserError("has a name like another's", "rename it").at(path))
            continue
        try:
            state = _state(each)
        except OSError as error:
            changed.faults.append(cannot_read(error).at(path))
            continue
        seen.add(path)
        file = known.get(path)
        if file and file.sure and file.state == state:
            changed.same[path] = file
        else:
            source = Source(path, each.file, each.data, each.size, each.media)
            changed.pending.append((source, state))
    changed.gone = {path for path in known if path not in seen}
    return changed


def _state(source: Source) -> str:
    """What changes where a file is written to; what is in an archive has only its content."""
    if source.data is not None:
        return ""
    status = os.stat(source.file)
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{status.st_size} {times} {status.st_dev} {status.st_ino}"


MARGIN = 2_000_000_000  # nanoseconds: some file systems count in seconds


def is_sure(state: str, now: int) -> bool:
    """Whether a file in that state, if it is written to from now on, gets another one.

    A file that was written to this moment may be written to again without a trace.

    >>> is_sure("10 5000000000 5000000000 1 1", now=6_000_000_000)
    False
    """
    return bool(state) and max(map(int, state.split()[1:3])) < now - MARGIN
