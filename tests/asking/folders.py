"""A folder that is asked, and its answers over a cache and over none."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

from conftest import PROGRAM, environment

from structkit import ask

QUESTION = "where are retries counted, and how long is the wait?"
FILES = {
    "net/retry.py": "def retry(count):\n    '''Count retries.'''\n    return count + 1\n",
    "net/wait.py": "def wait(seconds):\n    '''How long a wait is.'''\n    sleep(seconds)\n",
    "notes.md": "# Notes\n\nWe wait.\n\n## Retries\n\nThey are counted from one.\n",
    "page.html": "<h1>Manual</h1><p>Retries.<h2>Waiting</h2><p>A wait is long.",
    "data.bin": "\0\1",
    "empty.txt": "",
}


def folder_in(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def answers(folder: Path, cache: Path | None) -> list[dict[str, object]]:
    kept = {"no_cache": True} if cache is None else {"cache": str(cache)}
    return list(ask(folder, [QUESTION], **kept))


def same(folder: Path, cache: Path) -> list[dict[str, object]]:
    """The answers over a cache, which are those over none."""
    expected = answers(folder, None)
    assert expected == answers(folder, cache)
    return expected


def settle(folder: Path) -> None:
    """Let files be old, so that their states are sure."""
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))


def edit(folder: Path) -> None:
    (folder / "net/retry.py").write_text(FILES["net/retry.py"].replace("Count", "Wait for"))


def ids(output: bytes) -> list[str]:
    return [json.loads(line)["doc_id"] for line in output.splitlines()]


def command(folder: Path, cache: Path) -> list[str]:
    return [*PROGRAM, "ask", str(folder), QUESTION, "--cache", str(cache)]


def asked(
    folder: Path, cache: Path, limit: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    def limited() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        command(folder, cache),
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=limited,
    )
