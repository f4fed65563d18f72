"""Replace entities by sentinels, and say what a model shall predict in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structkit.errors import UserError
from structkit.jsonl import Record, text_field
from structkit.registry import load
from structkit.seeds import random_for
from structkit.structure.sentinels import (
    Masked,
    draw,
    mask,
    mask_spans,
    random_spans,
    refuse_sentinels,
)

FIELDS = ("positive", "code")


def mask_entities(
    records: Iterable[Record],
    *,
    language: str | None = None,
    field: str | None = None,
    mask_ratio: float | None = None,
    max_entities: int = 99,
    strategy: str = "entity",
    seed: int = 0,
) -> Iterator[Record]:
    """Add `masked`, `target` and `entities` to every record.

    `field` is `positive` (a training example's) or else `code`. `mask_ratio` is the share of
    distinct entities (default 1.0), or of tokens with `strategy="span"` (default 0.15). A text
    without entities, or with a sentinel in it, raises. Source: SANTA, section 3.2.

    >>> records = [{"id": "1", "language": "python", "code": "x = y + x"}]
    >>> [record["masked"] for record in mask_entities(records)]
    ['<extra_id_0> = <extra_id_1> + <extra_id_0>']
    """
    for record in records:
        text = text_field(record, field or _field(record))
        refuse_sentinels(text)
        if strategy == "span":
            ratio = 0.15 if mask_ratio is None else mask_ratio
            rng = random_for(seed, record["id"], "span")
            masked = mask_spans(text, random_spans(text, ratio, rng, max_spans=max_entities))
        else:
            masked = _entities(record, text, language, mask_ratio, max_entities, seed)
        if not masked.entities:
            raise UserError("the text holds no entity to mask", "leave the record out")
        yield {**record, **masked._asdict()}


def _field(record: Record) -> str:
    return next((field for field in FIELDS if field in record), FIELDS[-1])


def _entities(
    record: Record,
    text: str,
    language: str | None,
    ratio: float | None,
    max_entities: int,
    seed: int,
) -> Masked:
    name = language or text_field(record, "language", "name it with --language")
    spans = load("language", name, status=1 if language is None else 2).entities(text)
    only = None
    if ratio is not None and ratio < 1:
        found = [text[start:end] for start, end in spans]
        only = draw(found, ratio, random_for(seed, record["id"], "entity")) if found else None
    return mask(text, spans, max_entities=max_entities, only=only)
