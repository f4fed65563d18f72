"""Records as lines of JSON, as tests write and read them; and the files of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def lines(*records: Any) -> str:
    """The text of a file of records."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write(path: Path, *records: Any) -> str:
    """Write a file of records, and its folder; its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(*records), "utf-8")
    return str(path)


def read(source: str | bytes | Path) -> list[Any]:
    """The records of a text, or of a file."""
    text = source.read_bytes() if isinstance(source, Path) else source
    return [json.loads(line) for line in text.splitlines()]


def write_files(folder: Path, files: Mapping[Any, str | bytes]) -> Path:
    """Write files by their names in a folder, which is returned."""
    for name, content in files.items():
        path = folder / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """The names of a folder's files, and their bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
