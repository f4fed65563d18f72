"""BEIR: a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from structkit import plugin
from structkit.formats.interchange import CellForm, Fields, Part, Parts, Row
from structkit.records.fields import DOCUMENT_FIELDS, QUERY_FIELDS
from structkit.records.jsonl import Record

BEIR_QRELS_COLUMNS = {"query-id": "query_id", "corpus-id": "doc_id", "score": "relevance"}


class Format(plugin.Format):
    """Corpus, queries and judgements of a split."""

    def parts(self, split: str) -> Parts:
        return {
            "corpus": Part(("corpus.jsonl",), read_document, write_document),
            "queries": Part(("queries.jsonl",), read_query, write_query),
            "qrels": CellForm(BEIR_QRELS_COLUMNS, "\t").part(f"qrels/{split}.tsv"),
        }


def read_document(row: Fields) -> Record:
    """Return a document; an empty title is dropped."""
    title = row.pop_field("title", default="")
    text = row.pop_field("text")
    named = {"title": title} if title else {}
    return {**row.move({"id": "id"}), **named, "text": text, **row}


def write_document(record: Fields) -> Row:
    """Return a row of the corpus; the text is from any of the fields for documents."""
    row = {"_id": record.pop_text("id"), "title": record.pop_field("title", default="")}
    return row | {"text": record.pop_field(*DOCUMENT_FIELDS)} | metadata(record)


def read_query(row: Fields) -> Record:
    """Return a query."""
    query = row.pop_field("text")
    return {**row.move({"id": "id"}), "query": query, **row}


def write_query(record: Fields) -> Row:
    """Return a row of the queries; those of BRIGHT exclude documents."""
    row = {"_id": record.pop_text("id"), "text": record.pop_field(*QUERY_FIELDS)}
    return row | metadata(record) | record.move({"excluded_ids": "excluded_ids"})


def metadata(record: Fields) -> Row:
    """Return the metadata that BEIR keeps with a text."""
    kept = record.pop_field("metadata", kind=dict, default=None)
    return {} if kept is None else {"metadata": kept}
