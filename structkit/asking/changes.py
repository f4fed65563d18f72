"""What changed on disk since a folder was read, as the state of each file tells."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from structkit.asking.place import Target
from structkit.asking.store import File
from structkit.collecting.sources import LeftOut, Source
from structkit.collecting.walking import Walk
from structkit.errors import UserError
from structkit.records.lines import cannot_read


@dataclass
class FileChanges:
    """Unchanged files, files that may have changed with their states, and removed ones."""

    same: dict[str, File] = field(default_factory=dict)
    pending: list[tuple[Source, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    faults: list[UserError] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.pending or self.gone)


def changes(target: Target, walk: Walk, known: Mapping[str, File]) -> FileChanges:
    """The files of a target, compared with what is known of them."""
    changed = FileChanges()
    seen: set[str] = set()
    for each in walk.sources([target.real]):
        path = target.within(each.path)
        if isinstance(each, LeftOut):
            if each.fault:
                changed.faults.append(each.error)
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
    """What changes when a file is written to; a file in an archive has only its content."""
    if source.data is not None:
        return ""
    status = os.stat(source.file)
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{status.st_size} {times} {status.st_dev} {status.st_ino}"


MARGIN = 2_000_000_000  # nanoseconds: some file systems count in seconds


def is_sure(state: str, now: int) -> bool:
    """Whether a file in this state gets another one if it is written to from now on.

    A file that was just written to may be written to again without a trace.

    >>> is_sure("10 5000000000 5000000000 1 1", now=6_000_000_000)
    False
    """
    return bool(state) and max(map(int, state.split()[1:3])) < now - MARGIN
