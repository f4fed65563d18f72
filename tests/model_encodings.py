"""Models that encode, the texts that they encode, and encodings as tests want them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from structkit.commands.encode import encode_to_file
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.records.jsonl import Record
from structkit.settings import make
from tests import jsonl
from tests.learning.training.materials import train_on

TEXTS = [f"word {'and more ' * (number * 7 % 23)}{number}" for number in range(60)]


def records(texts: Iterable[str] = TEXTS, **extra: Any) -> list[Record]:
    """The texts as documents."""
    return [{"id": f"d{place}", "text": text} | extra for place, text in enumerate(texts)]


def stopped_after(lines: list[Record], count: int) -> Iterator[Record]:
    """Records, and after some of them what no program survives."""
    yield from lines[:count]
    raise SystemExit


def untrained(folder: Path) -> str:
    """The folder of an encoder whose vectors differ, which is all that matters."""
    lines = ({"id": str(n), "query": text, "positive": text} for n, text in enumerate(TEXTS))
    data = jsonl.write(folder / "train.jsonl", *lines)
    sizes = {"vocabulary_size": 400, "query_length": 16, "document_length": 64}
    train_on(data, "contrastive", folder / "model", size="tiny", max_steps=0, **sizes)
    return str(folder / "model")


def token_table(folder: Path) -> str:
    """The folder of a table of token vectors, whose rows are the same in any batch."""
    data = jsonl.write(folder / "texts.jsonl", *records())
    train_on(data, "static", folder / "model", dimensions=12, vocabulary_size=400)
    return str(folder / "model")


def encoding_of(
    model: str, as_: str = "document", held: int | None = None, **settings: Any
) -> Encoding:
    """The encoding of these settings, with so many records held at a time."""
    encoding = Encoding(make(EncodingSettings, {"model": model, "as_": as_, **settings}))
    encoding.window_records = held or encoding.window_records
    return encoding


def encode_file(model: str, path: Path | str, lines: Iterable[Record], **options: Any) -> Record:
    """Encode documents to a file, and return the facts about it."""
    encoding = encoding_of(model, "document", **options)
    meta = encode_to_file(map(encoding.read, lines), str(path), encoding)
    encoding.report()
    return meta
