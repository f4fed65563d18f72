"""`structkit.pair`."""

from __future__ import annotations

from collections.abc import Iterator

from structkit.api.stage import stage
from structkit.commands import pair as command
from structkit.records.jsonl import Record
from structkit.records.rejects import Command


def _examples(records: Iterator[Record], pairing: command.Pairing) -> Iterator[Record]:
    yield from pairing.command(records)


def _then(pairing: command.Pairing) -> Command | None:
    return pairing.then


_examples.__doc__ = command.pair.__doc__
pair = stage("pair", command.Pairing, _examples, _then)
