"""CodeSearchNet with the column names of the Hugging Face hub."""

from ...formats import codesearchnet


class Format(codesearchnet.Format):
    """Functions."""

    names = codesearchnet.HUB_NAMES
    files = ("{}.jsonl", "{}*.parquet", "*.jsonl", "*.parquet")
