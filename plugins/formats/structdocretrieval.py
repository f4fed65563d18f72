"""StructDocRetrieval: queries and the HTML that answers them; JSONL in files named .json."""

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Documents with their queries."""

    def parts(self, split: str) -> Parts:
        return {"corpus": Part((f"{split}.json", "*.json"), read_document, write_document)}


def read_document(row: Fields) -> Record:
    """Return an HTML document with its query."""
    return {"html": row.pop_field("content"), "query": row.pop_field("query"), **row}


def write_document(record: Fields) -> Row:
    """Return a row: query and content, nothing else."""
    return {
        "query": record.pop_field("query"),
        "content": record.pop_field("html", "content", "positive"),
    }
