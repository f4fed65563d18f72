"""What computes a model: a setting that several commands share."""

from __future__ import annotations

from typing import Any, Literal

from structkit.settings import setting

EngineName = Literal["auto", "torch", "onnx", "openvino", "openvino-int8"]


def engine_setting() -> Any:
    """What computes a model."""
    return setting(
        "auto",
        "What computes: torch, or an extra for encoders, onnx or openvino; auto: the fastest that "
        "computes the same; openvino-int8: faster, cosine about 0.99.",
    )
