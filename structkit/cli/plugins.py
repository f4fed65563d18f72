"""List languages, parsers and methods."""

from __future__ import annotations

from structkit.cli.options import (
    OutputFile,
    Quiet,
)
from structkit.cli.streams import apart

EXAMPLES = "structkit plugins"


def plugins(output: OutputFile = "-", quiet: Quiet = False) -> None:
    """List the languages, parsers and methods that are installed."""
    apart(output)
    from structkit.commands.plugins import plugins as command
    from structkit.records.table import write

    write(command(), output, columns=("kind", "name", "summary"))
