"""Manual pages made of the same sources as --help: python -m docs.manual FOLDER."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structkit.cli.main import Commands, app, sections
from structkit.version import __version__


def commands() -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each command, `structkit-plot-ranks`, the command, and its context."""
    waiting: list[tuple[Any, Any, str]] = [(app, None, "structkit")]
    while waiting:
        command, above, name = waiting.pop()
        context = command.context_class(command, info_name=command.name or name, parent=above)
        yield name, command, context
        if isinstance(command, Commands):
            for each in reversed(command.list_commands(context)):
                below = command.get_command(context, each)
                waiting.append((below, context, f"{name}-{each}"))


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each command and its manual page."""
    for name, command, context in commands():
        yield name, page(name, command, context)


def page(name: str, command: Any, context: Any) -> str:
    """Return a manual page in the macros of man(7)."""
    summary = (command.help or "").partition("\n\n")[0]
    lines = [
        f'.TH "{escaped(name).upper()}" 1 "" "structkit {escaped(__version__)}"',
        ".SH NAME",
        escaped(f"{name} - {summary}"),
        ".SH SYNOPSIS",
        f".B {escaped(context.command_path)}",
        escaped(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    lines += [
        line for part in (command.help or "").split("\n\n") for line in (".PP", escaped(part))
    ]
    if isinstance(command, Commands):
        lines += _definitions(command.group.heading, command.rows(context))
    for heading, rows in sections(command, context).items():
        lines += _definitions(heading, rows)
    if shown := examples(command):
        lines += [".SH EXAMPLES", ".nf", *map(escaped, shown), ".fi"]
    return "\n".join(lines) + "\n"


def examples(command: Any) -> list[str]:
    """Return the command lines at the end of a command's help."""
    lines = (command.epilog or "").partition("Examples:\n")[2].splitlines()
    return [line.strip() for line in lines]


def _definitions(heading: str, rows: list[tuple[str, str]]) -> list[str]:
    lines = [f".SH {escaped(heading).upper()}"] if rows else []
    for name, text in rows:
        lines += [".TP", f".B {escaped(name)}", escaped(text)]
    return lines


def escaped(text: str) -> str:
    r"""Return a text as one line that troff prints unchanged.

    >>> print(escaped(".gz files\n  with --on-error"))
    \&.gz files with \-\-on\-error
    """
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def write(folder: Path) -> None:
    """Write all pages into a folder, as `man -l FOLDER/structkit.1` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / f"{name}.1").write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
