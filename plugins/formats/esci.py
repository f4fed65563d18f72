"""ESCI (Shopping Queries): products, and judged examples, in Parquet, JSONL or CSV."""

from __future__ import annotations

from structkit import plugin
from structkit.errors import UserError
from structkit.formats.interchange import (
    Labels,
    Options,
    Part,
    Parts,
    Row,
    move,
    take,
    take_id,
    take_text,
    take_whole,
)
from structkit.records.jsonl import Record
from structkit.scoring.qrels import parse_gains

PRODUCT = dict.fromkeys(
    "product_id product_title product_description product_bullet_point product_brand "
    "product_color product_locale".split(),
    "string",
)
EXAMPLE = {
    "example_id": "int64",
    "query": "string",
    "query_id": "int64",
    "product_id": "string",
    "product_locale": "string",
    "esci_label": "string",
    "small_version": "int64",
    "large_version": "int64",
    "split": "string",
}
FIELDS = {
    "product_title": "title",
    "product_description": "description",
    "product_brand": "brand",
    "product_color": "color",
}
WORDS = {"exact": "E", "substitute": "S", "complement": "C", "irrelevant": "I"}
STARTS = ("shopping_queries_dataset_", "")
ENDINGS = ("parquet", "jsonl", "csv")
SETS = ("small_version", "large_version")


class Format(plugin.Format):
    """Products; judgements, and the queries in them."""

    def parts(self, options: Options) -> Parts:
        judged = Examples(Labels(parse_gains(options.gains or "esci-documented"), WORDS))
        products, examples = (
            tuple(f"{start}{kind}.{ending}" for start in STARTS for ending in ENDINGS)
            for kind in ("products", "examples")
        )
        return {
            "corpus": Part(products, read_product, write_product, names=PRODUCT),
            "qrels": Part(examples, judged.read, judged.write, names=EXAMPLE),
            "queries": Part(examples, judged.read_query),
        }


def read_id(row: Row) -> str:
    """The id of a product: the same product_id is another product in another locale."""
    locale, product_id = take(row, "product_locale"), take_id(row, "product_id")
    return f"{locale}:{product_id}"


def write_id(record: Record, name: str) -> Row:
    """Locale and product_id of a product's id."""
    locale, colon, product_id = take_id(record, name).partition(":")
    if not colon:
        raise UserError(f'"{locale}" names no locale', "write ids as us:B0DPZ8XK")
    return {"product_id": product_id, "product_locale": locale}


def read_product(row: Row) -> Record:
    """A product; the lines of its bullet points are `bullets`."""
    record = {"id": read_id(row), "language": "product", **move(row, FIELDS)}
    bullets = take(row, "product_bullet_point", default=None)
    return record | ({} if bullets is None else {"bullets": bullets.split("\n")}) | row


def write_product(record: Record) -> Row:
    """A row of the products."""
    row = write_id(record, "id") | {"product_title": take(record, "title", default=None)}
    for theirs, ours in FIELDS.items():
        row[theirs] = row.get(theirs) or take(record, ours, default=None)
    bullets = record.pop("bullets", None)
    if isinstance(bullets, list) and all(isinstance(item, str) for item in bullets):
        if any("\n" in item for item in bullets):
            raise UserError('an item of "bullets" holds a line break', "write one item per line")
        bullets = "\n".join(bullets) or None
    if bullets is not None and not isinstance(bullets, str):
        raise UserError('field "bullets" is not an array of strings', "write one string per bullet")
    if record.get("language") == "product":
        del record["language"]
    return {name: row.get(name) for name in PRODUCT} | {"product_bullet_point": bullets}


class Examples:
    """The examples: judgements of products, with their queries."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.seen: set[str] = set()

    def read(self, row: Row) -> Record:
        """A judgement; its query stays beside it."""
        return {
            **({"id": take_text(row, "example_id")} if "example_id" in row else {}),
            "query_id": take_text(row, "query_id"),
            "doc_id": read_id(row),
            **self.labels.read(take(row, "esci_label")),
            **{name: take_whole(row, name) for name in SETS if name in row},
            **row,
        }

    def read_query(self, row: Row) -> list[Record]:
        """A query, at its first judgement."""
        query_id = take_text(row, "query_id")
        if query_id in self.seen:
            return []
        self.seen.add(query_id)
        return [
            {"id": query_id, "query": take(row, "query"), "locale": take(row, "product_locale")}
        ]

    def write(self, record: Record) -> Row:
        """A row of the examples: a judgement that has its query."""
        row = write_id(record, "doc_id") | {"query_id": take_whole(record, "query_id")}
        row |= {"query": take(record, "query"), "esci_label": self.labels.take(record)}
        if "id" in record:
            row["example_id"] = take_whole(record, "id")
        row |= move(record, {name: name for name in (*SETS, "split")})
        return {name: row.get(name) for name in EXAMPLE}
