"""What changed in a target since the last question: its files, and the places where they come from.

Tests: tests/asking/test_cache.py, tests/asking/test_warm_folder.py.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from structkit.asking.cache import FAST, File, Target, state_at, state_of
from structkit.collecting.walking import Source, Walk
from structkit.errors import UserError

TICK = 2 * 10**9  # nanoseconds within which a file system may give two changes the same time


@dataclass(frozen=True)
class Look:
    """What a walk found: its files, which are there as long as nothing changes.

    `places` are the states of folders, ignore files and an archive, by which changes are noticed.
    """

    sources: list[Source]
    places: dict[str, str]

    @classmethod
    def of(cls, sources: list[Source], walk: Walk, now: int) -> Look | None:
        """Return what was found from `now` on, by the clock; None if a change may go unnoticed."""
        found = walk.places or {}
        if any(status and status.st_ctime_ns >= now - TICK for status in found.values()):
            return None
        # files in an archive change with it alone, so that their content is not kept
        files = [each if each.file else replace(each, data=None) for each in sources]
        return cls(files, {at: state_of(status, at) for at, status in found.items()})

    @classmethod
    def read(cls, data: bytes | None) -> Look | None:
        """Read what `data` returned."""
        if not data:
            return None
        sources, places = json.loads(zlib.decompress(data))
        return cls([Source(path, file, root=root) for path, file, root in sources], places)

    def data(self) -> bytes:
        """Return it as bytes; empty for a pipe, whose content is there once."""
        if any(source.data is not None for source in self.sources):
            return b""
        sources = [(each.path, each.file, each.root) for each in self.sources]
        # names may not be valid Unicode, which orjson refuses
        return zlib.compress(json.dumps([sources, self.places]).encode(), FAST)

    @property
    def holds(self) -> bool:
        """Whether no place has changed."""
        return all(state == state_at(at) for at, state in self.places.items())


@dataclass
class FileChanges:
    """Unchanged files, files that may have changed with their states, and removed ones.

    `sources` are all of them.
    """

    same: dict[str, File] = field(default_factory=dict)
    pending: list[tuple[Source, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    faults: list[UserError] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    @classmethod
    def of(cls, target: Target, walk: Walk, known: Mapping[str, File]) -> FileChanges:
        """Compare the files of a target with the known ones."""
        changes = cls(gone={*known})
        for each in walk.sources([target.real]):
            if isinstance(each, Source):
                path = target.below + target.within(each.path)
                changes.compare(replace(each, path=path), known)
            elif each.fault:
                changes.faults.append(each.error)
        return changes

    @classmethod
    def again(cls, look: Look, known: Mapping[str, File]) -> FileChanges:
        """Compare the files of a look that holds with the known ones."""
        changes = cls(gone={*known} - {source.path for source in look.sources})
        for source in look.sources:
            file = known.get(source.path)
            if file and file.state == (state_at(source.file) if source.file else ""):
                changes.same[source.path] = file
            else:
                with suppress(OSError):  # a file that is gone changed its folder, too
                    status = os.lstat(source.file)
                    changes.compare(replace(source, status=status), known)
        changes.sources = look.sources
        return changes

    def compare(self, source: Source, known: Mapping[str, File]) -> None:
        """Add a file after comparing it with its known state."""
        state, file = state_of(source.status), known.get(source.path)
        self.sources.append(source)
        self.gone.discard(source.path)
        if file and state and file.state == state:
            self.same[source.path] = file
        else:
            self.pending.append((source, state))
