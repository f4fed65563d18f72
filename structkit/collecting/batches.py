"""Files to lines of JSON, some at a time, in processes that can be stopped.

A few kilobytes of odd code can keep a grammar busy for hours, or end its process. So a child does
the work on a batch: if it does not finish, its files are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from structkit.collecting.kinds import (
    CODE,
    decode,
    is_binary,
    is_generated,
    is_minified,
    kind_of,
)
from structkit.collecting.sources import (
    BINARY,
    EMPTY,
    GENERATED,
    MINIFIED,
    Found,
    LeftOut,
    Source,
    too_large,
)
from structkit.collecting.units import Units, load_language
from structkit.errors import UserError, flag
from structkit.processes import in_child
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read
from structkit.records.output import dump

BATCH_FILES, BATCH_BYTES = 256, 1 << 20
HEAD = 8_192  # bytes by which a binary file is recognized


@dataclass(frozen=True)
class Reading:
    """How files are read: the flags of the command."""

    units: Units
    max_file_bytes: int = 2_000_000
    generated: bool = False
    seconds: float = 5.0  # of CPU time for a file; a megabyte takes 0.5


@dataclass
class Collected:
    """The result of some files: records as lines, in order, and what is left out."""

    files: int = 0
    records: int = 0
    output: bytes = b""
    left_out: list[LeftOut] = field(default_factory=list)


def batches(files: Iterable[Found]) -> Iterator[list[Found]]:
    """Some files at a time: many small ones, or a large one."""
    batch: list[Found] = []
    size = 0
    for each in files:
        batch.append(each)
        size += each.size if isinstance(each, Source) else 0
        if len(batch) == BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def collect_batch(batch: list[Found], reading: Reading) -> Collected:
    """The result of a batch, whatever its files do to the process that reads them."""
    for each in batch:
        load_language(each.path)  # once, and not in each child
    done = in_child(partial(_read_batch, batch, reading), reading.seconds)
    if done is not None:
        return done
    if len(batch) == 1:
        error = UserError(
            f"parsing takes longer than {reading.seconds:g} s",
            f"collect it with {flag('unit', 'file')}",
        )
        return Collected(1, left_out=[LeftOut.because(batch[0].path, error)])
    whole = Collected()
    for each in batch:
        part = collect_batch([each], reading)
        whole.files += part.files
        whole.records += part.records
        whole.output += part.output
        whole.left_out += part.left_out
    return whole


def _read_batch(batch: list[Found], reading: Reading) -> Collected:
    parts: list[bytes] = []
    done = Collected(len(batch))
    for each in batch:
        made = each if isinstance(each, LeftOut) else _lines(each, reading)
        if isinstance(made, LeftOut):
            done.left_out.append(made)
        else:
            parts += made
    done.records = len(parts)
    done.output = b"".join(parts)
    return done


def _lines(source: Source, reading: Reading) -> list[bytes] | LeftOut:
    """The lines of the records of a file, or why it has none."""
    path, units = source.path, reading.units
    try:
        data = _read(source, reading.max_file_bytes)
        if data is None:
            return LeftOut(path, *BINARY)
        text = decode(data, source.media)
        if not text.strip():
            return LeftOut(path, *EMPTY)
        kind = kind_of(path, text, source.media, source.language)
        if kind.name == CODE and not reading.generated:
            if is_minified(path, text):
                return LeftOut(path, *MINIFIED)
            if is_generated(path, text):
                return LeftOut(path, *GENERATED)
        lines = [dump(_with_fields(each, source)) for each in units.records(path, text, kind)]
    except UserError as error:
        return LeftOut.because(path, error)
    if not lines:
        return LeftOut(path, f"without {units.of(kind)}s", f"choose another {flag('unit')}")
    return lines


def _with_fields(unit: Record, source: Source) -> Record:
    """A unit; of a record's text with its other fields, and its id also in `doc_id`."""
    if (record := source.record) is None:
        return unit
    name = unit["id"].removeprefix(unit["path"])
    return {**record, **unit, "id": record["id"] + name, "doc_id": record["id"]}


def _read(source: Source, maximum: int) -> bytes | None:
    """The bytes of a file; None if they are not text."""
    if source.data is not None:
        return None if is_binary(source.data) else source.data
    try:
        with open(source.file, "rb") as handle:
            data = handle.read(HEAD)
            if is_binary(data):
                return None
            data += handle.read(maximum + 1 - len(data)) if len(data) == HEAD else b""
    except OSError as error:
        raise cannot_read(error) from None
    if len(data) > maximum:
        raise too_large(maximum)
    return data
