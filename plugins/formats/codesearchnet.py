"""CodeSearchNet: functions with their documentation; reads the hub's field names too."""

from __future__ import annotations

from structkit.formats.codesearchnet import FILES, FunctionFormat


class Format(FunctionFormat):
    """Functions."""

    names = FILES
    files = ("{}.jsonl", "*_{}_*.jsonl.gz", "*.jsonl", "*.parquet")
