"""Encodings as tests want them: settings that are checked, and the model opened."""

from __future__ import annotations

from typing import Any

from structkit.learning.encoding.encoding import Encoding
from structkit.learning.encoding.settings import EncodingSettings
from structkit.settings import make


def encoding_of(model: str, as_: str = "document", **settings: Any) -> Encoding:
    """The encoding of these settings."""
    return Encoding(make(EncodingSettings, {"model": model, "as_": as_, **settings}))
