"""Replace entities by sentinels, and say what a model should predict in their place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from structkit import plugin
from structkit.errors import UserError
from structkit.records.jsonl import Record, several, text_field
from structkit.registry import canonical
from structkit.seeds import random_for
from structkit.structure.code import official
from structkit.structure.code.languages import language_named, language_of
from structkit.structure.code.sentinels import (
    Masked,
    draw,
    mask,
    mask_spans,
    random_spans,
    refuse_sentinels,
)
from structkit.structure.code.spans import Span
from structkit.structure.code.statistics import Statistics


@dataclass(frozen=True)
class Masking:
    """What to mask: the flags of the command, checked before any record is read."""

    language: str | None = None
    field: str | None = None
    mask_ratio: float | None = None
    max_entities: int = 99
    strategy: str = "entity"
    profile: str = "paper"
    types: bool = False
    tagger: str | None = None
    seed: int = 0
    keep_plain: bool = False

    def __post_init__(self) -> None:
        official.check(self.profile, self.strategy)
        if self.language and self.strategy == "entity":
            self.configured(self.language)

    @property
    def draws(self) -> bool:
        """Whether only some entities of a text are masked."""
        return self.mask_ratio != 1 and (self.mask_ratio is not None or self.profile != "paper")

    def configured(self, language: str) -> plugin.Language:
        """The language of that name, with the flags that it takes."""
        return language_named(
            language,
            types=self.types,
            tagger=self.tagger,
            profile=self.profile,
            status=2 if self.language else 1,
        )


def mask_entities(
    records: Iterable[Record], masking: Masking | None = None, *, tally: Statistics | None = None
) -> Iterator[Record]:
    """Add `masked`, `target` and `entities` to every record.

    The field is `positive` (a training example's), or the language's: `code`, `description`,
    `html`. `mask_ratio` is the share of distinct entities (default 1.0), or of tokens with
    `strategy="span"` (default 0.15). A text without entities raises, or with `keep_plain` passes
    as it is, its target the closing sentinel alone; one with a sentinel in it raises. `tally`
    counts the results. Source: SANTA, section 3.2.

    >>> records = [{"id": "1", "language": "python", "code": "x = y + x"}]
    >>> [record["masked"] for record in mask_entities(records)]
    ['<extra_id_0> = <extra_id_1> + <extra_id_0>']
    """
    return several(records, partial(_masked, masking=masking or Masking(), tally=tally))


def _masked(
    records: list[Record], masking: Masking, tally: Statistics | None
) -> Iterator[Record | UserError]:
    """The masked records, in two steps over all: find the entities, replace them."""
    find, replace = (_random, _spans) if masking.strategy == "span" else (_entities, _replaced)
    entities = [_or_error(find, record, masking) for record in records]
    made = [
        each if isinstance(each, UserError) else replace(record, *each, masking)
        for record, each in zip(records, entities, strict=True)
    ]
    for record, each, masked in zip(records, entities, made, strict=True):
        if not isinstance(masked, UserError) and not masked.entities and not masking.keep_plain:
            masked = UserError("the text holds no entity to mask", PLAIN)
        if isinstance(masked, UserError):
            if tally:
                tally.reject(_language(record, masking), masked)
            yield masked
            continue
        if tally and not isinstance(each, UserError):
            tally.add(_language(record, masking), *each, masked)
        yield {**record, **masked._asdict()}


@contextmanager
def statistics(*, show: bool) -> Iterator[Statistics | None]:
    """Counts to fill, which stderr shows at the end; none if they are not wanted."""
    tally = Statistics() if show else None
    yield tally
    for line in tally.lines() if tally else ():
        print(line, file=sys.stderr)  # noqa: T201 statistics are for people


def _language(record: Record, masking: Masking) -> str:
    return canonical("language", str(language_of(record, masking.language) or "-"))


Marked = tuple[str, list[Span]]
PLAIN = "leave the record out, or keep it with --keep-plain"
UNNAMED = (
    "name it with --language (only a record with `html`, or with `title` and `description`, "
    "needs none)"
)


def _or_error(
    find: Callable[[Record, Masking], Marked], record: Record, masking: Masking
) -> Marked | UserError:
    try:
        return find(record, masking)
    except UserError as error:
        return error.with_traceback(None)  # a traceback would keep all records of the step alive


def _entities(record: Record, masking: Masking) -> Marked:
    language = language_of(record, masking.language)
    if not isinstance(language, str):
        if language is None:  # a missing text is reported before a missing language
            _text(record, masking.field, ("code",))
        language = text_field(record, "language", UNNAMED)
    configured = masking.configured(language)
    text = _text(record, masking.field, configured.fields)
    return text, _within(configured.entities(text, record), text, configured)


def _within(spans: list[Span], text: str, language: plugin.Language) -> list[Span]:
    """The spans, if a language may give them for this text."""
    last = 0
    for start, end in spans:
        if not last <= start < end <= len(text):
            raise UserError(
                f"the language {type(language).__module__} gives the entity ({start}, {end}), "
                f"which is empty, before the end of another or outside the text of {len(text):,} "
                "characters",
                "mend it",
            )
        last = end
    return spans


def _replaced(record: Record, text: str, spans: list[Span], masking: Masking) -> Masked:
    only = None
    if spans and masking.draws:
        only = _drawn(record, text, spans, masking)
    return mask(text, spans, max_entities=masking.max_entities, only=only)


def _drawn(record: Record, text: str, spans: list[Span], masking: Masking) -> set[str] | None:
    """The entities to mask, where that is not all of them."""
    names = [text[start:end] for start, end in spans]
    rng = random_for(masking.seed, record["id"], "entity")
    if masking.mask_ratio is None:
        return masking.configured(_language(record, masking)).drawn(names, rng)
    return draw(names, masking.mask_ratio, rng)


def _random(record: Record, masking: Masking) -> Marked:
    language = _known(record, masking)
    fields = masking.configured(language).fields if language else ("code",)
    text = _text(record, masking.field, fields)
    ratio = 0.15 if masking.mask_ratio is None else masking.mask_ratio
    rng = random_for(masking.seed, record["id"], "span")
    return text, random_spans(text, ratio, rng, max_spans=masking.max_entities)


def _spans(_record: Record, text: str, spans: list[Span], _masking: Masking) -> Masked:
    return mask_spans(text, spans)


def _known(record: Record, masking: Masking) -> str | None:
    """The language, if the default field depends on it: spans need none."""
    if masking.field or "positive" in record:
        return None
    language = language_of(record, masking.language)
    return language if isinstance(language, str) else None


def _text(record: Record, field: str | None, fields: Sequence[str]) -> str:
    if field is None:
        field = next((each for each in ("positive", *fields) if each in record), fields[0])
    text = text_field(record, field)
    refuse_sentinels(text)
    return text
