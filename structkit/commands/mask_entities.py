"""Replace entities (names, nouns) by sentinels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from structkit.command import Command
from structkit.errors import UserError, flag
from structkit.records.jsonl import Record, several, text_field
from structkit.records.stream import Stream, WorkerOptions
from structkit.registry import canonical
from structkit.seeds import random_for
from structkit.settings import seed_setting, setting
from structkit.structure.code import official
from structkit.structure.code.languages import Language, language_named, language_of
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


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Replace entities by sentinels, for a model to predict.

    Entities are names in code, nouns that a product's title and description share, and terms that
    query, title and body of an HTML document share.
    """

    language: str | None = setting(
        None,
        "Language of all records, or an alias such as js or C++; default: the field `language`; "
        "records with `html`, or with `title` and `description`, need none.",
        complete="language",
    )
    field: str | None = setting(
        None,
        "Field to mask; default: `positive`, otherwise the language's: `code`, `description` "
        "(products), `html` or `content`.",
    )
    mask_ratio: float | None = setting(
        None,
        "Share of distinct entities to mask (default 1.0), or of tokens for spans (0.15).",
        low=0.0,
        high=1.0,
    )
    max_entities: int = setting(
        99,
        "Maximum of distinct entities to mask; T5 has sentinels for 99 and the closing one.",
        low=1,
        high=99,
    )
    strategy: Literal["entity", "span"] = setting(
        "entity", "Entities (SANTA), or T5's random spans for the ablation."
    )
    profile: Literal["paper", "official"] = setting(
        "paper", "What the paper says, or what SANTA's released code masks."
    )
    types: bool = setting(False, "Code: mask names of types too.")
    tagger: Literal["rules", "nltk"] | None = setting(
        None,
        "Products: rules (default; the same everywhere, needs no data), or nltk (the paper's, "
        "needs NLTK's data; default of --profile official).",
    )
    keep_plain: bool = setting(
        False, "Keep texts without entities as they are: to align, with nothing to predict."
    )
    stats: bool = setting(False, "Print counts by language on stderr at the end.")
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        official.check(self.profile, self.strategy)
        if self.language and self.strategy == "entity":
            self.configured(self.language)

    @property
    def draws(self) -> bool:
        """Whether only some entities of a text are masked."""
        return self.mask_ratio != 1 and (self.mask_ratio is not None or self.profile != "paper")

    def configured(self, language: str) -> Language:
        """The language of that name, with the flags that it takes."""
        return language_named(
            language,
            types=self.types,
            tagger=self.tagger,
            profile=self.profile,
            status=2 if self.language else 1,
        )


def mask_entities(
    records: Iterable[Record], settings: Settings | None = None, *, tally: Statistics | None = None
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
    return several(records, partial(_masked, settings=settings or Settings(), tally=tally))


def _masked(
    records: list[Record], settings: Settings, tally: Statistics | None
) -> Iterator[Record | UserError]:
    """The masked records, in two steps over all: find the entities, replace them."""
    find, replace = (_random, _spans) if settings.strategy == "span" else (_entities, _replaced)
    entities = [_or_error(find, record, settings) for record in records]
    made = [
        each if isinstance(each, UserError) else replace(record, *each, settings)
        for record, each in zip(records, entities, strict=True)
    ]
    for record, each, masked in zip(records, entities, made, strict=True):
        if not isinstance(masked, UserError) and not masked.entities and not settings.keep_plain:
            masked = UserError(
                "the text holds no entity to mask",
                f"leave the record out, or keep it with {flag('keep_plain')}",
            )
        if isinstance(masked, UserError):
            if tally:
                tally.reject(_language(record, settings), masked)
            yield masked
            continue
        if tally and not isinstance(each, UserError):
            tally.add(_language(record, settings), *each, masked)
        yield {**record, **masked._asdict()}


def _language(record: Record, settings: Settings) -> str:
    return canonical("language", str(language_of(record, settings.language) or "-"))


Marked = tuple[str, list[Span]]


def _or_error(
    find: Callable[[Record, Settings], Marked], record: Record, settings: Settings
) -> Marked | UserError:
    try:
        return find(record, settings)
    except UserError as error:
        return error.with_traceback(None)  # a traceback would keep all records of the step alive


def _entities(record: Record, settings: Settings) -> Marked:
    language = language_of(record, settings.language)
    if not isinstance(language, str):
        if language is None:  # a missing text is reported before a missing language
            _text(record, settings.field, ("code",))
        remedy = (
            f"name it with {flag('language')} (only a record with `html`, or with `title` and "
            "`description`, needs none)"
        )
        language = text_field(record, "language", remedy)
    configured = settings.configured(language)
    text = _text(record, settings.field, configured.fields)
    return text, _within(configured.entities(text, record), text, configured)


def _within(spans: list[Span], text: str, language: Language) -> list[Span]:
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


def _replaced(record: Record, text: str, spans: list[Span], settings: Settings) -> Masked:
    only = None
    if spans and settings.draws:
        only = _drawn(record, text, spans, settings)
    return mask(text, spans, max_entities=settings.max_entities, only=only)


def _drawn(record: Record, text: str, spans: list[Span], settings: Settings) -> set[str] | None:
    """The entities to mask, where that is not all of them."""
    names = [text[start:end] for start, end in spans]
    rng = random_for(settings.seed, record["id"], "entity")
    if settings.mask_ratio is None:
        return settings.configured(_language(record, settings)).drawn(names, rng)
    return draw(names, settings.mask_ratio, rng)


def _random(record: Record, settings: Settings) -> Marked:
    language = _known(record, settings)
    fields = settings.configured(language).fields if language else ("code",)
    text = _text(record, settings.field, fields)
    ratio = 0.15 if settings.mask_ratio is None else settings.mask_ratio
    rng = random_for(settings.seed, record["id"], "span")
    return text, random_spans(text, ratio, rng, max_spans=settings.max_entities)


def _spans(_record: Record, text: str, spans: list[Span], _settings: Settings) -> Masked:
    return mask_spans(text, spans)


def _known(record: Record, settings: Settings) -> str | None:
    """The language, if the default field depends on it: spans need none."""
    if settings.field or "positive" in record:
        return None
    language = language_of(record, settings.language)
    return language if isinstance(language, str) else None


def _text(record: Record, field: str | None, fields: Sequence[str]) -> str:
    if field is None:
        field = next((each for each in ("positive", *fields) if each in record), fields[0])
    text = text_field(record, field)
    refuse_sentinels(text)
    return text


def _main(settings: Settings, options: WorkerOptions) -> None:
    tally = Statistics() if settings.stats and not options.quiet else None
    work = partial(mask_entities, settings=settings)
    Stream.of(options, settings).run(work, tally=tally, label="mask-entities")
    for line in tally.lines() if tally else ():
        print(line, file=sys.stderr)  # noqa: T201 statistics are for people


COMMAND = Command(
    mask_entities,
    Settings,
    _main,
    also=(WorkerOptions,),
    reads="`code` and `language`; `title` and `description`; `html`; or `positive`",
    adds="`masked`, `target`, `entities`; what is not given: `language`",
    examples="""
structkit mask-entities functions.jsonl -o masked.jsonl
structkit mask-entities products.jsonl --on-error skip --rejects rejects.jsonl | head -n 1
""",
)
