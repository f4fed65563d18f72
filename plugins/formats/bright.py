"""BRIGHT: documents, and examples, whose queries list documents that do not count."""

from functools import partial

from structkit import plugin
from structkit.formats.interchange import Fields, Part, Parts
from structkit.records.jsonl import Record


class Format(plugin.Format):
    """Documents; queries and their judgements.

    A split is a domain, such as `biology`; `biology-long` has whole pages instead of passages.
    """

    def parts(self, split: str) -> Parts:
        domain = split.removesuffix("-long")
        kind = "documents"
        field = "gold_ids"
        if domain != split:
            kind = "long_documents"
            field = "gold_ids_long"
        examples = (f"examples/{domain}-*.parquet", f"examples/{domain}.jsonl")
        return {
            "corpus": Part((f"{kind}/{domain}-*.parquet", f"{kind}/{domain}.jsonl"), read_document),
            "queries": Part(examples, read_query),
            "qrels": Part(examples, partial(read_judgements, field=field)),
        }


def read_document(row: Fields) -> Record:
    """Return a document."""
    return {"id": row.pop_text("id"), "text": row.pop_field("content"), **row}


def read_query(row: Fields) -> Record:
    """Return a query with the ids of its excluded documents; BRIGHT writes N/A for none."""
    excluded = [doc_id for doc_id in row.pop_texts("excluded_ids") if doc_id != "N/A"]
    record = {"id": row.pop_text("id"), "query": row.pop_field("query"), **row}
    return {**record, "excluded_ids": excluded} if excluded else record


def read_judgements(row: Fields, field: str) -> list[Record]:
    """Return the judgements of a query in a field: of passages, or of whole pages."""
    query_id = row.pop_text("id")
    doc_ids = row.pop_texts(field)
    return [{"query_id": query_id, "doc_id": doc_id, "relevance": 1} for doc_id in doc_ids]
