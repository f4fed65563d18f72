"""git without the settings and the rules of whoever runs the tests."""

from __future__ import annotations

from pathlib import Path

from conftest import completed, environment


def git(folder: Path, *words: str) -> bytes:
    """What git says in a folder."""
    own = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        own |= {f"GIT_{who}_NAME": "x", f"GIT_{who}_EMAIL": "x"}
    others = {name: each for name, each in environment().items() if not name.startswith("GIT_")}
    done = completed(["git", *words], cwd=folder, env=others | own)
    assert not done.returncode, done.stderr
    return bytes(done.stdout)
