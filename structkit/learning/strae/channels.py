"""Settings of StrAE and Self-StrAE, whose embeddings are channels with one composition.

Tests: tests/learning/strae/test_strae_training.py.
"""

from __future__ import annotations

from typing import Any

from structkit.learning.strae.settings import NodeSettings
from structkit.settings import setting, settings_class


@settings_class
class ChannelSettings(NodeSettings):
    """A square embedding has as many channels as columns."""

    parts = "channels"

    channels: int = setting(
        10,
        "channels of an embedding; composition sees one at a time",
        "StrAE, section 2",
        low=1,
        high=100_000,
        group="model",
    )
    composition_init: str = setting(
        "uniform",
        "initialization of composition: random, as in the released code, or a scaled sum",
        choices=("uniform", "sum"),
        group="model",
    )

    def make_model(self, words: int) -> Any:
        from structkit.learning.strae.model import StrAE

        return StrAE(words, self)
