"""JSON files for programs and people."""

from __future__ import annotations

from pathlib import Path

import orjson


def write_json(file: Path, content: object) -> None:
    """Write a JSON file for people too: indented, with a last line end."""
    file.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
