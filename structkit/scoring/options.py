"""What commands that read and write runs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from structkit.records.stream import OutputOptions
from structkit.settings import file_setting, setting


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Which runs are read, and how much of a ranking is written."""

    runs: tuple[str, ...] = file_setting(
        "Run files, JSONL or TREC; several count together.", ..., metavar="RUNS", argument=True
    )
    k: int = setting(100, "Documents per query.", short="-k", low=1)


@dataclass(frozen=True, kw_only=True)
class RunOutput(OutputOptions):
    """Where a run is written, and how."""

    format: Literal["jsonl", "trec"] | None = setting(
        None, "JSONL (default), or TREC's six columns; search --query: a list on a terminal."
    )
