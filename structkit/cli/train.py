"""Train a method on records and write a model folder."""

from __future__ import annotations

from typing import Any

import typer

from structkit.cli.flags import MethodGroup

RECORDS = {
    "reads": "those of the method: structkit train METHOD --help",
    "writes": (
        "`folder`, `method`, `steps`, `records`, `parameters`, `losses`, `truncated`, "
        "`texts`, `seconds_per_step`, `seconds`; with --validate: `held_out`; where an equal run "
        "may give other bits: `bits`"
    ),
}
EXAMPLES = """
structkit html-variants pages.jsonl | structkit train seal -o models/seal
structkit train seal --help
"""


def fit(method: str, settings: Any, options: Any, inputs: Any) -> None:
    """Train one method: called with its settings and the run's options as instances."""
    from structkit.progress import hush, waiting
    from structkit.records.output import write_summary

    hush(options.quiet)
    with waiting(f"loading {method}"):  # importing torch takes seconds
        from structkit.commands.train import train as command
    summary = command(method, settings, list(inputs.files), options)
    if not options.node_rank:  # one machine tells for all
        write_summary(summary)


def _run_options() -> list[type]:
    from structkit.learning.training.settings import RunOptions
    from structkit.records.stream import InputOptions

    return [RunOptions, InputOptions]


class Methods(MethodGroup):
    """`structkit train METHOD`."""

    call = staticmethod(fit)
    options = staticmethod(_run_options)


train = typer.Typer(
    cls=Methods,
    help="Train a method on records (files or stdin) and write a model folder.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
