"""`structkit.train`."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, get_type_hints

from structkit.api.arguments import fits, in_python
from structkit.api.given import Held, Names, Rows
from structkit.commands import train as command
from structkit.errors import unknown
from structkit.learning.training.settings import RunOptions
from structkit.records.jsonl import Record
from structkit.registry import load


def train(method: str, records: Names | Rows = (), /, **settings: Any) -> Record:
    """Train a method on records, write a model folder, and return the summary of the run.

    `settings` are the flags of `structkit train METHOD` by name: those of the method and those of
    the run, such as `output`, the folder. `records` are dicts, or names of files.
    """
    known: dict[str, type] = {}
    with in_python(known), Held() as held:
        kind = load("method", method)
        known |= {each.name: group for group in (kind, RunOptions) for each in fields(group)}
        for name, value in settings.items():
            if isinstance(value, os.PathLike):
                settings[name] = value = os.fspath(value)
            if name not in known:
                raise unknown(f"setting of {method}", name, known)
            if value is not None:
                fits(name, value, get_type_hints(known[name])[name])
        of_run = {name: settings.pop(name) for name in [*settings] if known[name] is RunOptions}
        options = RunOptions(**of_run)
        return command.train(method, kind(**settings), held.files(records, "records"), options)
