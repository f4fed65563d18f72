"""StructDocRetrieval: queries and the HTML that answers them; JSONL in files named .json."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import Options, Part, Parts, Row, take
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Documents with their queries."""

    def parts(self, options: Options) -> Parts:
        return {"corpus": Part((f"{options.split}.json", "*.json"), read_document, write_document)}


def read_document(row: Row) -> Record:
    """An HTML document with its query."""
    return {"html": take(row, "content"), "query": take(row, "query"), **row}


def write_document(record: Record) -> Row:
    """A row: query and content, nothing else."""
    return {
        "query": take(record, "query"),
        "content": take(record, "html", "content", "positive"),
    }
