"""What a person at a terminal sees of a command."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

from conftest import WARM, environment

# drawn anew by rich for every link
LINK_ID = re.compile(r"(?<=\x1b]8;)id=\d+(?=;)")
ANSI = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")


def seen(folder: Path, *arguments: str, columns: int = 80, **changes: str) -> str:
    """What a terminal of so many columns gets on stdout of a command that succeeds."""
    return shown(folder, [*WARM, *arguments], columns=columns, **changes)


def shown(
    folder: Path,
    command: list[str],
    columns: int = 80,
    stream: str = "stdout",
    status: int | None = 0,
    **changes: str,
) -> str:
    """The same of any program, or what a terminal gets on its stderr."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(COLUMNS=str(columns), **changes),
        stdin=subprocess.DEVNULL,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: end},
    ) as program:
        os.close(end)
        data = all_of(terminal)
        other = program.stderr or program.stdout
        assert other
        told = other.read().decode()
    assert status in (program.returncode, None), told
    return LINK_ID.sub("id=0", data.decode().replace("\r\n", "\n"))


def typed_in(folder: Path, shell: list[str], lines: list[str]) -> str:
    """What a terminal shows while lines are typed into a shell that has a folder's programs."""
    terminal, end = pty.openpty()
    changes = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb"}
    variables = environment(_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1", **changes)
    command = ["setsid", "--ctty", "--wait", *shell]  # fish wants the terminal to be its own
    with subprocess.Popen(command, stdin=end, stdout=end, stderr=end, env=variables):
        os.close(end)
        os.write(terminal, "".join(f"{line}\n" for line in lines).encode())
        return all_of(terminal).decode()


def all_of(terminal: int) -> bytes:
    """What a terminal gets until the last program at its end has gone; it is closed."""
    data = b""
    try:
        while more := os.read(terminal, 1 << 16):
            data += more
    except OSError:  # Linux's end of file of a terminal
        pass
    os.close(terminal)
    return data


def plain(text: str) -> str:
    """A text without colors and links."""
    return ANSI.sub("", text)
