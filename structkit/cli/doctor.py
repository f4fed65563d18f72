"""What is installed, and what would make it faster or better."""

from __future__ import annotations

from structkit.cli.options import (
    OutputFile,
    Quiet,
)
from structkit.cli.streams import apart

RECORDS = {
    "writes": "`part`, `state`, `found`, `remedy`",
}
EXAMPLES = "structkit doctor"


def doctor(output: OutputFile = "-", quiet: Quiet = False) -> None:
    """Look at packages, extras, data, caches, processor, GPU and disk, and name remedies.

    A terminal gets a table, a pipe JSONL. The state is ok, missing, slow, low (a disk), or
    differs (equal runs may give other bits).
    """
    apart(output)
    from structkit.commands.doctor import doctor as command
    from structkit.commands.doctor import report
    from structkit.records.table import write_drawn

    write_drawn(command(), output, report)
