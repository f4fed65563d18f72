"""Where a command reads and writes: its flags, checked before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.cli.options import OnError
    from structkit.records.stream import Stream


def stream(
    files: Sequence[str] | None,
    output: str,
    *,
    on_error: OnError,
    rejects: str | None,
    shard: str | None,
    workers: int = 1,
    record_timeout: float | None = None,
    ray: str | None = None,
    beside: Sequence[str | None] = (),
    replaced: Sequence[str | None] = (),
    others: tuple[str, ...] = (),
    in_place: bool = True,
    numbered: bool = True,
) -> Stream:
    """The record-wise flags of a command as a `Stream`.

    `beside` are other inputs, and `replaced` those that the output may replace.
    """
    from structkit.records.jsonl import Shard
    from structkit.records.stream import Stream

    return Stream(
        files=files or [],
        output=output,
        on_error=on_error,
        rejects=rejects,
        shard=None if shard is None else Shard.parse(shard),
        workers=workers,
        record_timeout=record_timeout,
        ray=ray,
        beside=beside,
        replaced=replaced,
        others=others,
        in_place=in_place,
        numbered=numbered,
    )


def apart(
    output: str, *reads: str | None, save_index: str | None = None, held_out: str | None = None
) -> None:
    """Raise if what a command writes, lines or a table, is one of its inputs."""
    from structkit.paths import keep_apart, lines_name

    writes = [("--save-index", save_index), ("--held-out", held_out), ("-o", output)]
    keep_apart(writes, reads)
    lines_name(output)
    lines_name(held_out or "-")
