"""WANDS (Wayfair): products, queries and labels in three tab-separated files."""

from __future__ import annotations

from structkit import plugin
from structkit.formats.interchange import Labels, Options, Part, Parts, Row, move, take, take_id
from structkit.records.jsonl import Record
from structkit.scoring.qrels import parse_gains

PRODUCT = {
    "product_id": "id",
    "product_name": "title",
    "product_class": "product_class",
    "category hierarchy": "category hierarchy",
    "product_description": "description",
    "product_features": "product_features",
    "rating_count": "rating_count",
    "average_rating": "average_rating",
    "review_count": "review_count",
}
QUERY = {"query_id": "id", "query": "query", "query_class": "query_class"}
LABEL = dict.fromkeys(("id", "query_id", "product_id", "label"), "string")
# as in WANDS' own evaluation: a partial match is worth half an exact one
GAINS = "Exact=1,Partial=0.5,Irrelevant=0"
WORDS = {"exact": "Exact", "partial": "Partial", "irrelevant": "Irrelevant"}


class Format(plugin.Format):
    """Products, queries and judgements."""

    def parts(self, options: Options) -> Parts:
        labels = Labels(parse_gains(options.gains or GAINS), WORDS)

        def read_label(row: Row) -> Record:
            return {
                **move(row, {"id": "id"}),
                "query_id": take(row, "query_id"),
                "doc_id": take(row, "product_id"),
                **labels.read(take(row, "label")),
                **row,
            }

        def write_label(record: Record) -> Row:
            return {
                "id": take_id(record, "id"),
                "query_id": take_id(record, "query_id"),
                "product_id": take_id(record, "doc_id"),
                "label": labels.take(record),
            }

        return {
            "corpus": Part(("product.csv",), read_product, write_product, "tab", PRODUCT),
            "queries": Part(("query.csv",), read_query, write_query, "tab", QUERY),
            "qrels": Part(("label.csv",), read_label, write_label, "tab", LABEL),
        }


def read_product(row: Row) -> Record:
    """A product; columns without a name of ours keep theirs."""
    return {"id": take(row, "product_id"), "language": "product", **move(row, PRODUCT), **row}


def write_product(record: Record) -> Row:
    """A row of the products; empty cells where a field is missing."""
    if record.get("language") == "product":
        del record["language"]
    row = {"product_id": take_id(record, "id"), "product_name": take(record, "title")}
    return row | move(record, {ours: theirs for theirs, ours in PRODUCT.items()})


def read_query(row: Row) -> Record:
    """A query."""
    return {"id": take(row, "query_id"), "query": take(row, "query"), **row}


def write_query(record: Record) -> Row:
    """A row of the queries."""
    row = {"query_id": take_id(record, "id"), "query": take(record, "query", "text")}
    return row | move(record, {"query_class": "query_class"})
