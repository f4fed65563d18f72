"""WANDS (Wayfair): products, queries and labels in three tab-separated files."""

from structkit import plugin
from structkit.formats.interchange import Fields, Labels, Part, Parts, Row
from structkit.records.jsonl import Record

OUR_PRODUCT_FIELDS = {
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
OUR_QUERY_FIELDS = {"query_id": "id", "query": "query", "query_class": "query_class"}
LABEL_COLUMNS = dict.fromkeys(("id", "query_id", "product_id", "label"), "string")
# as in WANDS' own evaluation: a partial match is worth half an exact one
LABEL_GAINS = Labels({"Exact": 2, "Partial": 1, "Irrelevant": 0})


class Format(plugin.Format):
    """Products, queries and judgements."""

    def parts(self, split: str) -> Parts:
        return {
            "corpus": Part(
                ("product.csv",), read_product, write_product, "tsv", OUR_PRODUCT_FIELDS
            ),
            "queries": Part(("query.csv",), read_query, write_query, "tsv", OUR_QUERY_FIELDS),
            "qrels": Part(("label.csv",), read_label, write_label, "tsv", LABEL_COLUMNS),
        }


def read_product(row: Fields) -> Record:
    """Return a product; columns without a name of ours keep theirs."""
    return {
        "id": row.pop_field("product_id"),
        "language": "product",
        **row.move(OUR_PRODUCT_FIELDS),
        **row,
    }


def write_product(record: Fields) -> Row:
    """Return a row of the products; missing fields are empty cells."""
    if record.get("language") == "product":
        del record["language"]
    row = {"product_id": record.pop_text("id"), "product_name": record.pop_field("title")}
    return row | record.move({ours: theirs for theirs, ours in OUR_PRODUCT_FIELDS.items()})


def read_query(row: Fields) -> Record:
    """Return a query."""
    return {"id": row.pop_field("query_id"), "query": row.pop_field("query"), **row}


def write_query(record: Fields) -> Row:
    """Return a row of the queries."""
    row = {"query_id": record.pop_text("id"), "query": record.pop_field("query", "text")}
    return row | record.move({"query_class": "query_class"})


def read_label(row: Fields) -> Record:
    """Return a judgement."""
    return {
        **row.move({"id": "id"}),
        "query_id": row.pop_field("query_id"),
        "doc_id": row.pop_field("product_id"),
        **LABEL_GAINS.read(row.pop_field("label")),
        **row,
    }


def write_label(record: Fields) -> Row:
    """Return a row of the judgements."""
    return {
        "id": record.pop_text("id"),
        "query_id": record.pop_text("query_id"),
        "product_id": record.pop_text("doc_id"),
        "label": LABEL_GAINS.pop_label(record),
    }
