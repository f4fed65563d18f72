"""CodeSearchNet with the column names of the Hugging Face hub."""

from __future__ import annotations

from structkit.formats.codesearchnet import HUB, FunctionFormat


class Format(FunctionFormat):
    """Functions."""

    names = HUB

    def files(self, split: str) -> tuple[str, ...]:
        """The usual names of the files of a split."""
        return (f"{split}.jsonl", f"{split}*.parquet", "*.jsonl", "*.parquet")
