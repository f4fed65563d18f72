"""Which processes run."""

from __future__ import annotations

from pathlib import Path


def in_session(session: int) -> dict[int, str]:
    """The names of the processes of a session, by their numbers."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            name = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found[int(stat.parent.name)] = name
    return found
