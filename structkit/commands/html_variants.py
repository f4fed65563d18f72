"""Tagged, untagged and masked variants of HTML documents, and of their negatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from structkit.errors import UserError
from structkit.records.jsonl import Record, json_kind, text_field
from structkit.seeds import random_for
from structkit.structure.html.html import Document, Reader, untag
from structkit.structure.html.markdown import CONVERTERS
from structkit.structure.html.tags import kept

FIELDS = {
    "html": ("html", "content", "positive"),
    "markdown": ("markdown", "text", "content", "positive"),
    "text": ("text", "content", "positive"),
}
NEGATIVES = "give a list of documents in the same markup as the record's own"


@dataclass(frozen=True)
class Variation:
    """How variants are made: the flags of the command, checked before any record is read."""

    mask_ratio: float = 0.1
    mask: str = "tag"
    tags: str = "structure"
    keep_attributes: bool = False
    field: str | None = None
    source: str = "html"
    seed: int = 0

    def __post_init__(self) -> None:
        kept(self.tags)

    def masked(self, document: Document, *key: str | int) -> str:
        """The document with a share of its elements masked, drawn by the seed and a key."""
        rng = random_for(self.seed, *key)
        return document.masked(self.mask_ratio, rng, content=self.mask == "content")


def html_variants(
    records: Iterable[Record], variation: Variation | None = None
) -> Iterator[Record]:
    """Add `tagged`, `untagged` and `masked` to every record, and the same for its `negatives`.

    A document without text, or without an element, raises. Source: SEAL, sections 3.1 to 3.3.

    >>> records = [{"id": "1", "html": "<h1 class=x>Tea</h1><p>is <b>hot</b>"}]
    >>> variant = next(html_variants(records, Variation(mask_ratio=0.5)))
    >>> variant["tagged"], variant["untagged"], variant["masked"]
    ('<h1>Tea</h1><p>is hot</p>', 'Tea is hot', '<h1>Tea</h1>is hot')
    """
    variation = variation or Variation()
    reader = Reader(kept(variation.tags), attributes=variation.keep_attributes)
    convert = CONVERTERS[variation.source]
    for record in records:
        id = record["id"]
        document = reader.read(convert(_text(record, variation)))
        if not document.text:
            raise UserError("the document holds no text", "leave the record out")
        if not document.elements:
            raise UserError(
                "the document holds no element to mask",
                "leave the record out, or keep more --tags",
            )
        variants: Record = {
            "tagged": document.tagged,
            "untagged": document.text,
            "masked": variation.masked(document, id, "element"),
        }
        if variation.mask == "content" and not untag(variants["masked"]):
            raise UserError(
                "the document without its masked elements holds no text",
                "leave the record out, or mask a smaller share",
            )
        if "negatives" in record:
            negatives = [reader.read(convert(text)) for text in _negatives(record)]
            _refuse_empty(negatives)
            variants |= {
                "negatives_tagged": [negative.tagged for negative in negatives],
                "negatives_untagged": [negative.text for negative in negatives],
                "negatives_masked": [
                    variation.masked(negative, id, "negative", position)
                    for position, negative in enumerate(negatives)
                ],
            }
        yield {**record, **variants}


def _refuse_empty(negatives: list[Document]) -> None:
    for position, negative in enumerate(negatives):
        if not negative.text:
            raise UserError(f'item {position} of field "negatives" holds no text', "leave it out")


def _text(record: Record, variation: Variation) -> str:
    known = FIELDS[variation.source]
    field = variation.field or next((each for each in known if each in record), known[0])
    return text_field(record, field, "name the --field of the document" if field in record else "")


def _negatives(record: Record) -> list[str]:
    negatives = record["negatives"]
    if type(negatives) is not list:
        raise UserError(
            f'field "negatives" is {json_kind(negatives)}, not an array of strings', NEGATIVES
        )
    for position, negative in enumerate(negatives):
        if type(negative) is not str:
            raise UserError(
                f'item {position} of field "negatives" is {json_kind(negative)}, not a string',
                NEGATIVES,
            )
    return negatives
