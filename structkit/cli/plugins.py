"""List the plugins: languages, parsers, methods, backends, rankers, formats."""

from __future__ import annotations

from structkit.cli.options import (
    OutputFile,
    Quiet,
)
from structkit.cli.streams import apart

RECORDS = {
    "writes": "`kind`, `name`, `pack`, `summary`",
}
EXAMPLES = "structkit plugins"


def plugins(output: OutputFile = "-", quiet: Quiet = False) -> None:
    """List the installed languages, parsers, methods, backends, rankers and formats."""
    apart(output)
    from structkit.commands.plugins import plugins as command
    from structkit.records.table import write

    write(command(), output, columns=("kind", "name", "summary"))
