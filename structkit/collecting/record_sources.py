"""Records that each hold a whole file, read as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from structkit.collecting.sources import LeftOut, Source, too_large
from structkit.errors import UserError, flag, program
from structkit.records.jsonl import Record, Records, text_field
from structkit.records.texts import HTML, text_name

TEXTS = ("code", *HTML, "text")


@dataclass(frozen=True)
class FileRecords:
    """JSONL files, each record a file: its text in `code`, `html` or `text`, its name in `path`."""

    max_file_bytes: int = 2_000_000

    def sources(self, paths: Sequence[str]) -> Iterator[Source | LeftOut]:
        """A file for each record, in order, with the record's other fields."""
        records = Records.read(paths)
        while True:
            try:
                for record in records:
                    yield self._source(record)
                return
            except UserError as error:
                placed = records.place(error)
                yield LeftOut.because(f"{placed.file}:{placed.line}", error)

    def _source(self, record: Record) -> Source:
        field = text_name(record, TEXTS, _remedy())
        data = text_field(record, field).encode()
        path = text_field(record, "path") if "path" in record else record["id"]
        if len(data) > self.max_file_bytes:
            raise too_large(self.max_file_bytes)
        media = "text/html" if field in HTML else ""
        language = record.get("language")
        return Source(
            path,
            data=data,
            size=len(data),
            media=media,
            language=language if isinstance(language, str) else "",
            record={name: value for name, value in record.items() if name != field},
        )


def _remedy() -> str:
    return f"rename a field with {program('select')}: {flag('rename', 'FIELD=text')}"


def of_record(units: Iterator[Record], record: Record) -> Iterator[Record]:
    """Units of a record's text: its other fields, its id before theirs and in `doc_id`."""
    for unit in units:
        name = unit["id"].removeprefix(unit["path"])
        yield {**record, **unit, "id": record["id"] + name, "doc_id": record["id"]}
