"""CodeSearchNet: functions with their documentation; reads the hub's field names too."""

from __future__ import annotations

from structkit.formats.codesearchnet import FILES, FunctionFormat


class Format(FunctionFormat):
    """Functions."""

    names = FILES

    def files(self, split: str) -> tuple[str, ...]:
        """The usual names of the files of a split."""
        return (f"{split}.jsonl", f"*_{split}_*.jsonl.gz", "*.jsonl", "*.parquet")
