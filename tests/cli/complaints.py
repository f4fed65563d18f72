"""A record that all commands take, and what they say of others."""

from __future__ import annotations

import subprocess

GOOD = b'{"id":"1","language":"python","code":"def f(a):\\n  return a"}\n'


def complaint(done: subprocess.CompletedProcess[bytes], status: int = 1) -> str:
    """The one line on stderr, without the program's name; of wrong usage nothing else."""
    assert status == done.returncode, done.stderr.decode()
    assert status < 2 or not done.stdout
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("structkit: ")
    return lines[0].removeprefix("structkit: ")
