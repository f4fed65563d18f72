"""Make tagged, untagged and masked variants of HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from structkit.command import Command
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record, text_field
from structkit.records.stream import WorkerOptions
from structkit.reproducibility import random_for
from structkit.settings import seed_setting, setting, settings_class
from structkit.structure.html.markdown import CONVERTERS
from structkit.structure.html.tags import tag_names

if TYPE_CHECKING:
    from structkit.structure.html.reader import Document

DOCUMENT_FIELDS = {
    "html": ("html", "content", "positive"),
    "markdown": ("markdown", "text", "content", "positive"),
    "text": ("text", "content", "positive"),
}


@settings_class
class Settings:
    """Make variants of HTML documents: add `tagged`, `untagged` and `masked`.

    A record with `negatives` also gets `negatives_tagged`, `negatives_untagged` and
    `negatives_masked`.
    """

    mask_ratio: float = setting(
        0.1, "Share of elements to mask; at least one is masked.", low=0.0, high=1.0
    )
    mask: Literal["tag", "content"] = setting(
        "tag", "Remove an element's tags (SEAL's paper), or also its content."
    )
    tags: str = setting(
        "structure",
        "Tags to keep, by name or as sets: structure (headings, paragraphs, lists, tables, "
        "sections), phrases (a, em, span …), all.",
        metavar="TAG,…",
    )
    field: str | None = setting(
        None,
        "Field with the document.",
        inferred="`html` (with {from_}: `markdown`, `text`), otherwise `content` or `positive`",
    )
    from_: Literal["html", "markdown", "text"] = setting("html", "Format of the documents.")
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        tag_names(self.tags)

    @cached_property
    def read(self) -> Callable[[str], Document]:
        """Function that reads a document in its format and keeps these tags."""
        from structkit.structure.html.reader import Reader

        reader, convert = Reader(tag_names(self.tags)), CONVERTERS[self.from_]
        return lambda text: reader.read(convert(text))


def html_variants(record: Record, settings: Settings) -> Record:
    """Add `tagged`, `untagged` and `masked` to every record, and the same for its `negatives`.

    A document without text, or without an element, raises. Source: SEAL, sections 3.1 to 3.3.

    >>> record = {"id": "1", "html": "<h1 class=x>Tea</h1><p>is <b>hot</b>"}
    >>> variant = html_variants(record, Settings(mask_ratio=0.5))
    >>> variant["tagged"], variant["untagged"], variant["masked"]
    ('<h1>Tea</h1><p>is hot</p>', 'Tea is hot', '<h1>Tea</h1>is hot')
    """
    document = settings.read(_document_html(record, settings))
    if not document.text:
        raise UserError("the document holds no text", "leave the record out")
    if not document.elements:
        raise UserError(
            "the document holds no element to mask",
            f"leave the record out, or keep more {flag('tags')}",
        )
    masked = _mask(document, settings, record["id"], "element")
    if settings.mask == "content" and not re.sub("<[^>]*>", "", masked).strip():
        raise UserError(
            "the document without its masked elements holds no text",
            "leave the record out, or mask a smaller share",
        )
    variants: Record = {"tagged": document.tagged, "untagged": document.text, "masked": masked}
    if "negatives" in record:
        variants |= _of_negatives(record, settings)
    return {**record, **variants}


def _of_negatives(record: Record, settings: Settings) -> Record:
    """Return the variants of a record's negatives."""
    negatives = [settings.read(text) for text in _negatives_html(record)]
    for position, negative in enumerate(negatives):
        if not negative.text:
            raise UserError(f'item {position} of field "negatives" holds no text', "leave it out")
    return {
        "negatives_tagged": [negative.tagged for negative in negatives],
        "negatives_untagged": [negative.text for negative in negatives],
        "negatives_masked": [
            _mask(negative, settings, record["id"], "negative", position)
            for position, negative in enumerate(negatives)
        ],
    }


def _mask(document: Document, settings: Settings, *key: str | int) -> str:
    """Return the document with a share of its elements masked, drawn by the seed and a key."""
    rng = random_for(settings.seed, *key)
    return document.mask(settings.mask_ratio, rng, content=settings.mask == "content")


def _document_html(record: Record, settings: Settings) -> str:
    known = DOCUMENT_FIELDS[settings.from_]
    field = settings.field or next((each for each in known if each in record), known[0])
    remedy = f"name the {flag('field')} of the document"
    return text_field(record, field, remedy if field in record else "")


def _negatives_html(record: Record) -> list[str]:
    negatives = record["negatives"]
    if type(negatives) is list and all(type(each) is str for each in negatives):
        return negatives
    raise UserError(
        'field "negatives" is not a list of strings',
        "give documents in the same markup as the record's own",
    )


COMMAND = Command(
    html_variants,
    Settings,
    also=(WorkerOptions,),
    reads="`html`, or `content`, `positive`; with {from_}: `markdown`, `text`; `negatives`",
    adds="`tagged`, `untagged`, `masked`; with `negatives`: `negatives_tagged`, "
    "`negatives_untagged`, `negatives_masked`",
    examples="""
structkit html-variants pages.jsonl -o variants.jsonl
structkit html-variants --mask-ratio 0.2 --workers 2 < pages.jsonl | head -n 1
""",
)
