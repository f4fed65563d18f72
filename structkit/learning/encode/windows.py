"""Records in windows, each of which is embedded at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from structkit.learning.encode.reading import ReadRecord
from structkit.learning.encode.reuse import Embedded

WINDOW = 2048  # records, or elements, held at a time …
TREES = 256  # … or trees: each has many nodes …
CHARACTERS = 1 << 24  # … or fewer, where they are long

Window = list[ReadRecord]
# what embeds windows, in their order
Spread: TypeAlias = "Callable[[Iterator[Window]], Iterator[tuple[Window, Embedded]]]"


def windows(texts: Iterable[ReadRecord], most: int | None = None) -> Iterator[Window]:
    """Records of `Encoding.texts`, in windows that are held in memory."""
    most = most or WINDOW
    window, rows, characters = Window(), 0, 0
    for record in texts:
        window.append(record)
        rows += len(record)
        characters += sum(map(len, record.texts))
        if rows >= most or characters >= CHARACTERS:
            yield window
            window, rows, characters = [], 0, 0
    if window:
        yield window
