"""Pictures of a terminal in README.md and the guides: python docs/terminal.py."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import requests
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
from rich.text import Text

ASKED = 'structkit ask requests "how is the encoding of a response guessed" -k 2'
OF_PAGES = "structkit ask pages 'where did traders bring the compass from' -k 1"
COMMANDS = {
    "terminal": ASKED,
    "terminal-narrow": ASKED,
    "terminal-pages": OF_PAGES,
    "terminal-pages-narrow": OF_PAGES,
}
PICTURES = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
WIDTHS = {name: 46 if "narrow" in name else 76 for name in COMMANDS}


def session(name: str) -> str:
    """Return a command and what it prints at a terminal, with its colors.

    It runs beside the source of requests, a package that readers know, and a folder of pages.
    """
    with tempfile.TemporaryDirectory() as places:
        kept = shutil.ignore_patterns("__pycache__")
        for folder in (Path("fixtures"), Path(requests.__file__).parent):
            shutil.copytree(folder, Path(places, folder.name), ignore=kept)
        pages = Path(places, "pages")
        pages.mkdir()
        for line in Path("fixtures/pages/test.jsonl").read_text("utf-8").splitlines():
            page = json.loads(line)
            (pages / f"{page['id']}.html").write_text(page["html"], "utf-8")
        plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        own = {"XDG_CACHE_HOME": places, "XDG_DATA_HOME": places, "TERM": "xterm-256color"}
        reading, writing = pty.openpty()
        program = shlex.join([sys.executable, "-m", "structkit"])
        command = ["bash", "-c", f'structkit() {{ {program} "$@"; }}\n{COMMANDS[name]}']
        done = subprocess.Popen(
            command,
            cwd=places,
            stdout=writing,
            stderr=subprocess.DEVNULL,
            env={**plain, **own, "COLUMNS": str(WIDTHS[name])},
        )
        os.close(writing)
        seen = b""
        while some := _read(reading):
            seen += some
        done.wait()
    return f"$ {COMMANDS[name]}\n" + seen.decode().replace("\r", "")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


def picture(name: str, text: str, theme: str) -> str:
    """The SVG of a session."""
    console = Console(record=True, width=WIDTHS[name], file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text.rstrip()))
    svg = console.export_svg(title="structkit", theme=PICTURES[theme], unique_id="structkit")
    # a page shows pictures without the fonts of other hosts
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    for name in COMMANDS:
        seen = session(name)
        for theme in PICTURES:
            Path("docs", f"{name}-{theme}.svg").write_text(picture(name, seen, theme), "utf-8")
