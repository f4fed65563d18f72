"""Train a method on records and write a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from structkit import registry
from structkit.command import Command, Group
from structkit.progress import waiting
from structkit.records.jsonl import Record
from structkit.records.stream import InputOptions

if TYPE_CHECKING:
    from structkit.learning.training.method import Method, RunOptions


@dataclass(frozen=True, kw_only=True)
class Methods(Group):
    """The installed methods, each imported on first use: its settings are the flags."""

    heading = "Methods"

    def names(self) -> Sequence[str]:
        return registry.names("method")

    def command(self, name: str) -> Command:
        from structkit.learning.training.method import RunOptions

        plugin = registry.find("method", name)
        method: type[Method] = registry.load("method", name)
        return Command(
            partial(train, plugin.name),
            method,
            partial(_main, plugin.name),
            also=(RunOptions, InputOptions),
            without=method.idle_options(),
            name=plugin.name,
            about=plugin.summary(),
            reads=method.records,
            examples=method.example,
        )

    def summary(self, name: str) -> str:
        return registry.find("method", name).summary()


def train(name: str, settings: Method, options: RunOptions, inputs: InputOptions) -> Record:
    """Train a method on records, write a model folder, and return the summary of the run.

    Of several processes that torchrun started, the first returns it, and the others nothing.
    """
    with waiting(f"loading {name}"):  # importing torch takes seconds
        from structkit.learning.training.run import train_method as run
    return run(name, settings, inputs.files, options)


def _main(name: str, settings: Method, options: RunOptions, inputs: InputOptions) -> None:
    from structkit.records.output import write_summary

    if summary := train(name, settings, options, inputs):
        write_summary(summary)


COMMAND = Methods(
    name="train",
    help="Train a method on records (files or stdin) and write a model folder.",
    reads="those of the method: structkit train METHOD {help}",
    writes="`folder`, `method`, `steps`, `records`, `parameters`, `losses`, `truncated`, "
    "`texts`, `seconds_per_step`, `seconds`; with {validate}: `held_out`; where an equal run "
    "may give other bits: `bits`",
    examples="""
structkit html-variants pages.jsonl | structkit train seal -o models/seal
structkit train seal --help
""",
)
