"""Repositories at pinned commits, from GitHub or from a folder of copies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HOST = "https://github.com/"
APART = {"120000", "160000"}  # modes of a symbolic link and of a commit of another repository


class Missing(Exception):
    """What could not be had, why, and what to do."""


@dataclass(frozen=True)
class File:
    """A file of a commit: its path, and the name of its bytes."""

    path: str
    blob: str


@dataclass(frozen=True)
class Repository:
    """A repository of GitHub; `parent` keeps the commits that were fetched, without history.

    `mirror` has copies as OWNER/NAME or OWNER/NAME.git, which are read in place of GitHub.
    """

    name: str
    parent: Path
    mirror: Path | None = None

    def git(self, *words: str, given: bytes = b"") -> bytes:
        """Return what git prints, or raise git's reason."""
        command = ["git", "--git-dir", str(self.parent / self.name.replace("/", "+")), *words]
        try:
            done = subprocess.run(command, input=given, capture_output=True, check=False)
        except FileNotFoundError:
            raise Missing("git is not installed; install it with the system's packages") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip() or "git failed"
            reason = said.splitlines()[-1]
            source = f"{self.mirror}/{self.name}" if self.mirror else f"{HOST}{self.name}"
            raise Missing(f"{source}: {reason}; run the command again, which goes on from here")
        return done.stdout

    def fetch(self, *revisions: str) -> None:
        """Bring the commits that are not here yet."""
        self.parent.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--bare")
        found = self.git("cat-file", "--batch-check", given="\n".join(revisions).encode())
        states = dict(zip(revisions, found.splitlines(), strict=True))
        lacking = [each for each, state in states.items() if state.endswith(b" missing")]
        if lacking:
            mirror = ["-c", f"url.{self.mirror.resolve()}/.insteadOf={HOST}"] if self.mirror else []
            words = ["fetch", "--quiet", "--no-tags", "--depth", "1", f"{HOST}{self.name}"]
            self.git(*mirror, *words, *lacking)

    def files(self, revision: str, below: str = "") -> list[File]:
        """List the files of a commit below a folder by their paths, without links."""
        listed = self.git("ls-tree", "-r", "-z", revision, "--", below or ".").decode()
        found = []
        for line in listed.split("\0")[:-1]:
            meta, _, path = line.partition("\t")
            mode, _, blob = meta.split()
            if mode not in APART:
                found.append(File(path, blob))
        return found

    def contents(self, files: Sequence[File]) -> Iterator[bytes]:
        """Read the bytes of each file."""
        packed = self.git("cat-file", "--batch", given="\n".join(e.blob for e in files).encode())
        start = 0
        for _ in files:
            head = packed.index(b"\n", start)
            end = head + 1 + int(packed[start:head].split()[2])
            yield packed[head + 1 : end]
            start = end + 1

    def read(self, revision: str, path: str) -> bytes:
        """Read the bytes of one file of a commit."""
        return self.git("show", f"{revision}:{path}")
