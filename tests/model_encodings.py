"""Encodings as tests want them: settings that are checked, and the model opened."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from structkit.commands.encode import encode_to_file
from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.records.jsonl import Record
from structkit.settings import make


def encoding_of(model: str, as_: str = "document", **settings: Any) -> Encoding:
    """The encoding of these settings."""
    return Encoding(make(EncodingSettings, {"model": model, "as_": as_, **settings}))


def encode_file(
    model: str, path: Path | str, lines: Iterable[Record], *, resume: bool = False, **options: Any
) -> Record:
    """Encode documents to a file, and say what is to be said of them: the facts about the file."""
    encoding = encoding_of(model, "document", **options)
    meta = encode_to_file(encoding.texts(lines), str(path), encoding, resume=resume)
    encoding.report()
    return meta
