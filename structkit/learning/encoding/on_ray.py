"""Windows of records that are embedded by the processes of a Ray cluster."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, get_args

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.reading import Embedded, Spread, Window
from structkit.learning.encoding.settings import EncodingSettings, Engine
from structkit.processes import LOCAL, cores
from structkit.records.cluster import RayPool

Counts = dict[str, Counter[str]]  # of texts that were truncated, of words that are unknown


def encoding_over(address: str, settings: EncodingSettings) -> Encoding:
    """Return an encoding whose windows are embedded in a cluster, by processors."""
    encoding = Encoding(settings, device="cpu")
    encoding.spread = spread_over(address, encoding)
    return encoding


def spread_over(address: str, encoding: Encoding) -> Spread:
    """Return a function that embeds windows in a cluster, as `encoding` does.

    The first is embedded here, which chooses engine and precision for all.
    """

    def spread(several: Iterator[Window]) -> Iterator[tuple[Window, Embedded]]:
        yield from encoding.embed_here(islice(several, 1))
        second = list(islice(several, 1))
        if not second:
            return
        waiting: deque[Window] = deque()

        def sent() -> Iterator[Window]:
            for window in chain(second, several):
                waiting.append(window)
                yield window

        processes = cores() if address == LOCAL else 1
        pool = RayPool[Window, tuple[Embedded, Counts]](address, processes, Remote.of(encoding))
        with closing(pool.results(sent())) as results:
            for embedded, counts in results:
                encoding.truncation.merge(counts)
                yield waiting.popleft(), embedded

    return spread


@dataclass
class Remote:
    """An `Encoding` that each process makes for itself, when it is first called."""

    settings: EncodingSettings
    precision: str | None

    @classmethod
    def of(cls, encoding: Encoding) -> Remote:
        """Return the task that computes as `encoding` does here."""
        settings, engine = encoding.settings, encoding.engine
        model = settings.model
        chosen: dict[str, Any] = {
            "model": os.path.abspath(model) if os.path.isdir(model) else str(model),
            "engine": engine.name if engine.name in get_args(Engine) else "auto",
            "dtype": engine.dtype if engine.name == "torch" else settings.dtype,
        }
        return cls(replace(settings, **chosen), encoding.engine.precision)

    @cached_property
    def encoding(self) -> Encoding:
        made = Encoding(self.settings, device="cpu")
        made.engine.precision = self.precision
        return made

    def __call__(self, window: Window) -> tuple[Embedded, Counts]:
        self.encoding.truncation.drain()  # a window that failed has counted some
        embedded = self.encoding.window(window)
        return embedded, self.encoding.truncation.drain()
