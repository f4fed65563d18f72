"""CodeSearchNet with the column names of the Hugging Face hub."""

from __future__ import annotations

from structkit.formats.codesearchnet import HUB, FunctionFormat


class Format(FunctionFormat):
    """Functions."""

    names = HUB
    files = ("{}.jsonl", "{}*.parquet", "*.jsonl", "*.parquet")
