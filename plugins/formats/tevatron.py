"""Tevatron: training examples with passages or document ids; corpus and queries."""

from typing import Any

from structkit import plugin
from structkit.errors import UserError
from structkit.formats.interchange import Fields, Part, Parts, Row
from structkit.records.fields import DOCUMENT_FIELDS, QUERY_FIELDS
from structkit.records.jsonl import Record

PASSAGE_SIDES = ("positive", "negative")


class Format(plugin.Format):
    """Training examples, corpus and queries, of versions 1 and 2."""

    def parts(self, split: str) -> Parts:
        return {
            "examples": Part(("train.jsonl", "train.jsonl.gz"), read_example, write_example),
            "corpus": Part(("corpus.jsonl",), read_document, write_document),
            "queries": Part(("queries.jsonl", f"{split}.jsonl"), read_query, write_query),
        }


def read_example(row: Fields) -> Record:
    """Return an example; of several `positives`, the first is `positive`.

    A passage's text has its title before it, as Tevatron trains on it; titles are kept as well.
    Rows of version 2 only name documents: `positive_ids`, `negative_ids` and no texts.
    """
    record = {"id": row.pop_text("query_id"), "query": row.pop_field("query", "query_text")}
    for side in PASSAGE_SIDES:
        if f"{side}_passages" in row:
            record |= passages(row.pop_field(f"{side}_passages", kind=list, default=[]), side)
        else:
            ids = row.pop_texts(f"{side}_document_ids")
            record |= {f"{side}_ids": ids} if ids else {}
    if "positive" not in record and "positive_ids" not in record:
        raise UserError(
            'field "positive_passages" is missing or empty', "give at least one positive"
        )
    return record | row


def passages(objects: list[Any], side: str) -> Record:
    """Return texts, ids and titles of one side's passages."""
    ids, titles, texts = [], [], []
    for each in objects:
        if not isinstance(each, dict):
            raise UserError(
                f'field "{side}_passages" does not hold objects',
                "write docid, title and text in each",
            )
        passage = Fields(each)
        titles.append(passage.pop_field("title", default=""))
        ids.append(passage.pop_text("docid"))
        text = passage.pop_field("text")
        texts.append(f"{titles[-1]} {text}" if titles[-1] else text)
    if not texts:
        return {}
    record: Record = {"positive": texts[0]} if side == "positive" else {}
    if side == "negative" or len(texts) > 1:
        record[f"{side}s"] = texts
    record[f"{side}_ids"] = ids
    return record | ({f"{side}_titles": titles} if any(titles) else {})


def write_example(record: Fields) -> Row:
    """Return a row with passages; without texts, one with the ids of documents (version 2)."""
    query_id = record.pop_text("query_id" if "query_id" in record else "id")
    if record.get("id") == query_id:
        del record["id"]
    query = record.pop_field("query")
    if "positive" not in record and "positive_ids" in record:
        ids = {f"{side}_document_ids": record.pop_texts(f"{side}_ids") for side in PASSAGE_SIDES}
        return {"query_id": query_id, "query_text": query, **ids}
    first = record.pop_field("positive")
    positives = [first, *record.pop_texts("positives")[1:]]
    if "doc_id" in record and "positive_ids" not in record:
        record["positive_ids"] = [record.pop_text("doc_id")]
    return {
        "query_id": query_id,
        "query": query,
        "positive_passages": written(record, positives, "positive", query_id),
        "negative_passages": written(record, record.pop_texts("negatives"), "negative", query_id),
    }


def written(record: Fields, texts: list[str], side: str, query_id: str) -> list[Row]:
    """Return the passages of one side; without an id, one is named by query, side and place."""
    ids = record.pop_texts(f"{side}_ids")
    ids = ids or [f"{query_id}-{side}-{place}" for place in range(len(texts))]
    titles = record.pop_texts(f"{side}_titles") or [""] * len(texts)
    if not len(ids) == len(titles) == len(texts):
        raise UserError(
            f"the record has {len(texts)} texts, {len(ids)} ids and {len(titles)} titles of "
            f"{side} documents",
            "give each text an id and a title",
        )
    rows = zip(ids, titles, texts, strict=True)
    return [
        {"docid": docid, "title": title, "text": text.removeprefix(f"{title} " if title else "")}
        for docid, title, text in rows
    ]


def read_document(row: Fields) -> Record:
    """Return a document."""
    record = {"id": row.pop_text("docid"), "text": row.pop_field("document_text", "text")}
    title = row.pop_field("title", default="")
    return record | ({"title": title} if title else {}) | row


def write_document(record: Fields) -> Row:
    """Return a row of the corpus, as version 2 names its fields."""
    row = {"docid": record.pop_text("id"), "document_text": record.pop_field(*DOCUMENT_FIELDS)}
    title = record.pop_field("title", default="")
    return row | ({"title": title} if title else {})


def read_query(row: Fields) -> Record:
    """Return a query."""
    record = {"id": row.pop_text("query_id"), "query": row.pop_field("query", "query_text")}
    if row.get("query_text") == record["query"]:
        del row["query_text"]
    return record | row


def write_query(record: Fields) -> Row:
    """Return a row of the queries, with the text under the names of both versions."""
    text = record.pop_field(*QUERY_FIELDS)
    return {"query_id": record.pop_text("id"), "query": text, "query_text": text}
