"""Run a command over blocks of lines in several processes, with the results in input order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structkit.records.jsonl import Block, Record, Records, Shard
from structkit.records.output import dump
from structkit.records.rejects import Rejected, Tally, accepted, counting
from structkit.records.workers.pool import Pool

BLOCK = 1 << 18  # bytes that a worker gets at a time


@dataclass
class Done:
    """What a worker made of a block."""

    output: bytes = b""
    count: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    tally: Any = None


class Workers(Pool[Block, Done]):
    """Processes that run a command over blocks of lines; results come in input order."""

    def __init__(
        self,
        workers: int,
        command: Callable[..., Iterator[Record]],
        shard: Shard | None,
        skip: bool,
        tally: Tally | None = None,
        *,
        seconds: float = 0,
    ) -> None:
        counts = None if tally is None else type(tally)
        work = partial(
            _work, command=command, shard=shard, skip=skip, counts=counts, seconds=seconds
        )
        super().__init__(workers, work)
        self.skip, self.tally, self.seconds = skip, tally, seconds

    @contextmanager
    def lines(
        self, records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[Iterator[bytes]]:
        """The lines that the command writes of `records`, which counts them, some at a time."""
        with closing(self.results(records.lines.blocks(BLOCK))) as results:
            try:
                yield self._taken(results, records, reject)
            except (KeyboardInterrupt, SystemExit):
                self.abandon()
                raise

    def _taken(
        self, results: Iterable[Done], records: Records, reject: Callable[[Rejected], None]
    ) -> Iterator[bytes]:
        for done in results:
            records.count += done.count
            yield done.output  # first: what comes before a bad record is written
            if self.tally is not None:
                self.tally.merge(done.tally)
            for rejected in done.rejected:
                reject(rejected)


def _work(
    block: Block,
    command: Callable[..., Iterator[Record]],
    shard: Shard | None,
    skip: bool,
    counts: type[Any] | None,
    seconds: float,
) -> Done:
    """What the command makes of a block; between two records go by `seconds` at most, if any."""
    done = Done(tally=counts() if counts else None)
    records = Records(block, shard)

    def reject(rejected: Rejected) -> None:
        done.rejected.append(rejected)
        if not skip:
            raise _Stop
        signal.setitimer(signal.ITIMER_REAL, seconds)

    parts: list[bytes] = []
    signal.setitimer(signal.ITIMER_REAL, seconds)  # at its end the process ends
    try:
        for record in accepted(counting(command, done.tally), records, reject):
            parts.append(dump(record))
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds)
    except _Stop:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    done.output, done.count = b"".join(parts), records.count
    return done


class _Stop(Exception):
    """A worker met its first error and `--on-error fail` is set."""
