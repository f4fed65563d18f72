"""Replace entities (names, nouns) by sentinels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from structkit import plugin, registry
from structkit.command import Command
from structkit.errors import UserError, data_errors, flag
from structkit.records.jsonl import Record, text_field
from structkit.records.stream import WorkerOptions
from structkit.reproducibility import random_for
from structkit.settings import seed_setting, setting, settings_class
from structkit.structure.code.languages import Language, check_spans, language_of
from structkit.structure.sentinels import (
    Masked,
    draw,
    mask,
    mask_spans,
    random_spans,
    refuse_sentinels,
)


def usual_ratio(settings: Settings) -> float | None:
    """1, or 0.15 with {strategy:span}, or as the profile has it"""
    return 0.15 if settings.strategy == "span" else settings.profile_plugin.mask_ratio


@settings_class
class Settings:
    """Replace entities by sentinels, for a model to predict.

    Entities are names in code, nouns that the title and the description of a product share, and
    terms that the query, the title and the body of an HTML document share.
    """

    language: str | None = setting(
        None,
        "Language of all records, or an alias such as js or C++; not needed for records with "
        "`html`, or with `title` and `description`.",
        inferred="`language` of each record",
        complete="language",
    )
    field: str | None = setting(
        None,
        "Field to mask.",
        inferred="`positive`, otherwise the language's: `code`, `description` (products), `html`, "
        "`content`",
    )
    mask_ratio: float | None = setting(
        None,
        "Share of distinct entities to mask, or of tokens with spans.",
        low=0.0,
        high=1.0,
        usual=usual_ratio,
    )
    max_entities: int = setting(
        99,
        "Maximum distinct entities to mask; T5 has sentinels for 99 and the closing one.",
        low=1,
        high=99,
    )
    strategy: Literal["entity", "span"] = setting(
        "entity", "Mask entities (SANTA), or T5's random spans for an ablation.", excludes="profile"
    )
    profile: str = setting(
        "paper",
        "Mask what SANTA's paper describes, or what another profile has; `structkit plugins` lists "
        "them.",
        complete="profile",
    )
    types: bool = setting(False, "Mask names of types too, in code.")
    tagger: Literal["rules", "nltk"] | None = setting(
        None,
        "Find nouns of products by rules (the same everywhere, without data), or with nltk "
        "(as in the paper, needs NLTK's data).",
        inferred="rules, or as the profile has it",
    )
    keep_plain: bool = setting(
        False, "Keep texts without entities unchanged, for alignment without prediction."
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        if self.language:
            self.language_named(self.language)
        self.profile_plugin  # noqa: B018 an unknown profile is wrong usage

    def language_named(self, name: str) -> Language:
        """Return the language of that name, with its flags."""
        return self.profile_plugin.language(name, types=self.types, tagger=self.tagger)

    @property
    def profile_plugin(self) -> plugin.Profile:
        """The profile. Errors: there is none of that name."""
        profile: type[plugin.Profile] = registry.load("profile", self.profile)
        return profile()


def mask_entities(record: Record, settings: Settings) -> Record:
    """Add `masked`, `target` and `entities` to every record.

    The field is `positive` (a training example's), or the language's: `code`, `description`,
    `html`. `mask_ratio` is the share of distinct entities (default 1.0), or of tokens with
    `strategy="span"` (default 0.15). A text without entities raises, or with `keep_plain` passes
    as it is, its target the closing sentinel alone; one with a sentinel in it raises. Source:
    SANTA, section 3.2.

    >>> record = {"id": "1", "language": "python", "code": "x = y + x"}
    >>> mask_entities(record, Settings())["masked"]
    '<extra_id_0> = <extra_id_1> + <extra_id_0>'
    """
    mask_one = _mask_spans if settings.strategy == "span" else _mask_entities
    masked, target, entities = mask_one(record, settings)
    if not entities and not settings.keep_plain:
        raise UserError(
            "the text holds no entity to mask",
            f"leave the record out, or keep it with {flag('keep_plain')}",
        )
    return {**record, "masked": masked, "target": target, "entities": entities}


def _mask_entities(record: Record, settings: Settings) -> Masked:
    name = language_of(record, settings.language)
    if not isinstance(name, str):
        if name is None:  # a missing text is reported before a missing language
            _text_to_mask(record, settings, ("code",))
        name = text_field(record, "language", f"name it with {flag('language')}")
    with data_errors():  # the record's language
        language = settings.language_named(name)
    text = _text_to_mask(record, settings, language.fields)
    spans = check_spans(language.entities(text, record), text, language)
    only = None
    if spans and settings.mask_ratio != 1:  # only some are masked
        names = [text[start:end] for start, end in spans]
        rng = random_for(settings.seed, record["id"], "entity")
        ratio = settings.mask_ratio
        only = language.draw(names, rng) if ratio is None else draw(names, ratio, rng)
    return mask(text, spans, max_entities=settings.max_entities, only=only)


def _mask_spans(record: Record, settings: Settings) -> Masked:
    fields: Sequence[str] = ("code",)
    if not settings.field and "positive" not in record:  # only the default depends on a language
        name = language_of(record, settings.language)
        fields = settings.language_named(name).fields if isinstance(name, str) else fields
    text = _text_to_mask(record, settings, fields)
    assert settings.mask_ratio is not None
    rng = random_for(settings.seed, record["id"], "span")
    return mask_spans(
        text, random_spans(text, settings.mask_ratio, rng, max_spans=settings.max_entities)
    )


def _text_to_mask(record: Record, settings: Settings, fields: Sequence[str]) -> str:
    known = ("positive", *fields)
    field = settings.field or next((each for each in known if each in record), fields[0])
    text = text_field(record, field)
    refuse_sentinels(text)
    return text


COMMAND = Command(
    mask_entities,
    Settings,
    also=(WorkerOptions,),
    reads="`code` and `language`; `title` and `description`; `html`; or `positive`",
    adds="`masked`, `target`, `entities`; if missing: `language`",
    examples="""
structkit mask-entities functions.jsonl -o masked.jsonl
structkit mask-entities products.jsonl --on-error skip --rejects rejects.jsonl | head -n 1
""",
)
