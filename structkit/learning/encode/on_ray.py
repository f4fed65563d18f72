"""Windows of records that are embedded by the processes of a Ray cluster."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any

from structkit.errors import UserError
from structkit.learning.encode.encoding import Encoding
from structkit.learning.encode.engines import ENGINES
from structkit.learning.encode.reuse import Embedded
from structkit.learning.encode.windows import Spread, Window
from structkit.records.workers.cluster import LOCAL, RayPool, check
from structkit.records.workers.pool import cores

Counts = dict[str, Counter[str]]  # of texts that were truncated, of words that are unknown


def check_alone(
    address: str, *, field: Sequence[str], reuse: str | None, device: str | None
) -> None:
    """Raise for an address that is none, and for flags that do not go with one."""
    check(address)
    wrong = {"--reuse": reuse, "several --field": len(field) > 1}
    wrong[f"--device {device}"] = device not in (None, "cpu")
    for flag, given in wrong.items():
        if given:
            problem = f"--ray and {flag} exclude each other"
            raise UserError(problem, "leave one of them out", status=2)


def over(address: str, encoding: Encoding) -> Spread:
    """What embeds windows in a cluster, as `encoding` does.

    The first is embedded here: thereby engine and precision are chosen, for all.
    """

    def spread(several: Iterator[Window]) -> Iterator[tuple[Window, Embedded]]:
        yield from encoding.here(islice(several, 1))
        second = list(islice(several, 1))
        if not second:
            return
        waiting: deque[Window] = deque()

        def given() -> Iterator[Window]:
            for window in chain(second, several):
                waiting.append(window)
                yield window

        processes = cores() if address == LOCAL else 1
        pool = RayPool[Window, tuple[Embedded, Counts]](address, processes, _Remote.of(encoding))
        with closing(pool.results(given())) as results:
            for embedded, counts in results:
                encoding.truncation.merge(counts)
                yield waiting.popleft(), embedded

    return spread


@dataclass
class _Remote:
    """An `Encoding` that each process makes for itself, when it is first called."""

    options: dict[str, Any]
    precision: str | None

    @classmethod
    def of(cls, encoding: Encoding) -> _Remote:
        model, engine = encoding.model, encoding.engine
        chosen = {
            "model": os.path.abspath(model) if os.path.isdir(model) else model,
            "engine": engine.name if engine.name in ENGINES else "auto",
            "dtype": engine.dtype if engine.name == "torch" else encoding.options["dtype"],
            "batch_tokens": encoding.batch_tokens,
        }
        return cls(encoding.options | chosen, encoding.precision)

    @cached_property
    def encoding(self) -> Encoding:
        made = Encoding(**self.options)
        made.precision = self.precision
        return made

    def __call__(self, window: Window) -> tuple[Embedded, Counts]:
        self.encoding.truncation.drained()  # a window that failed has counted some
        embedded = self.encoding.window(window)
        return embedded, self.encoding.truncation.drained()
