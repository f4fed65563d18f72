"""ESCI (Shopping Queries): products, and judged examples, in Parquet, JSONL or CSV."""

from structkit import plugin
from structkit.errors import UserError
from structkit.formats.interchange import Fields, Labels, Part, Parts, Row
from structkit.records.jsonl import Record
from structkit.scoring.qrels import parse_gains

PRODUCT_COLUMNS = dict.fromkeys(
    "product_id product_title product_description product_bullet_point product_brand "
    "product_color product_locale".split(),
    "string",
)
EXAMPLE_COLUMNS = {
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
PRODUCT_FIELDS = {
    "product_title": "title",
    "product_description": "description",
    "product_brand": "brand",
    "product_color": "color",
}
LABEL_WORDS = {"exact": "E", "substitute": "S", "complement": "C", "irrelevant": "I"}
VERSION_FIELDS = ("small_version", "large_version")


class Format(plugin.Format):
    """Products; judgements, and the queries in them."""

    def parts(self, split: str) -> Parts:
        judged = ProductExamples(Labels(parse_gains("esci-documented"), LABEL_WORDS))
        products, examples = (
            (f"shopping_queries_dataset_{kind}.parquet", f"*{kind}.*")
            for kind in ("products", "examples")
        )
        return {
            "corpus": Part(products, read_product, write_product, names=PRODUCT_COLUMNS),
            "qrels": Part(examples, judged.read, judged.write, names=EXAMPLE_COLUMNS),
            "queries": Part(examples, judged.read_query),
        }


def read_id(row: Fields) -> str:
    """Return the id of a product: the same product_id is another product in another locale."""
    locale, product_id = row.pop_field("product_locale"), row.pop_text("product_id")
    return f"{locale}:{product_id}"


def write_id(record: Fields, name: str) -> Row:
    """Return locale and product_id of a product's id."""
    locale, colon, product_id = record.pop_text(name).partition(":")
    if not colon:
        raise UserError(f'"{locale}" names no locale', "write ids as us:B0DPZ8XK")
    return {"product_id": product_id, "product_locale": locale}


def read_product(row: Fields) -> Record:
    """Return a product; the lines of its bullet points are `bullets`."""
    record = {"id": read_id(row), "language": "product", **row.move(PRODUCT_FIELDS)}
    if bullets := row.pop_field("product_bullet_point", default=""):
        record["bullets"] = bullets.split("\n")
    return record | row


def write_product(record: Fields) -> Row:
    """Return a row of the products."""
    row = write_id(record, "id")
    for theirs, ours in PRODUCT_FIELDS.items():
        row[theirs] = record.pop_field(ours, default=None)
    bullets = record.pop_texts("bullets")
    if any("\n" in item for item in bullets):
        raise UserError('an item of "bullets" holds a line break', "write one item per line")
    if record.get("language") == "product":
        del record["language"]
    return {name: row.get(name) for name in PRODUCT_COLUMNS} | {
        "product_bullet_point": "\n".join(bullets) or None
    }


class ProductExamples:
    """The examples: judgements of products, with their queries."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.seen: set[str] = set()

    def read(self, row: Fields) -> Record:
        """Return a judgement with its query."""
        return {
            **({"id": row.pop_text("example_id")} if "example_id" in row else {}),
            "query_id": row.pop_text("query_id"),
            "doc_id": read_id(row),
            **self.labels.read(row.pop_field("esci_label")),
            **{name: row.pop_whole(name) for name in VERSION_FIELDS if name in row},
            **row,
        }

    def read_query(self, row: Fields) -> list[Record]:
        """Return a query, at its first judgement."""
        query_id = row.pop_text("query_id")
        if query_id in self.seen:
            return []
        self.seen.add(query_id)
        return [
            {
                "id": query_id,
                "query": row.pop_field("query"),
                "locale": row.pop_field("product_locale"),
            }
        ]

    def write(self, record: Fields) -> Row:
        """Return a row of the examples: a judgement that has its query."""
        row = write_id(record, "doc_id") | {"query_id": record.pop_whole("query_id")}
        row |= {"query": record.pop_field("query"), "esci_label": self.labels.pop_label(record)}
        if "id" in record:
            row["example_id"] = record.pop_whole("id")
        row |= record.move({name: name for name in (*VERSION_FIELDS, "split")})
        return {name: row.get(name) for name in EXAMPLE_COLUMNS}
