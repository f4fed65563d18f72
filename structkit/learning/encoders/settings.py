"""The settings of every method that trains a Hugging Face encoder.

Tests: tests/learning/training/test_train_settings.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from structkit.errors import flag, wrong_usage
from structkit.learning.folders import model_folder
from structkit.learning.metadata import (
    MAX_TEXT_TOKENS,
    MCLS_EVERY,
    POOLINGS,
    own_metadata,
)
from structkit.learning.training.data import teacher_scores
from structkit.learning.training.method import GradientSettings
from structkit.records.jsonl import Record
from structkit.settings import change, given_values, setting, settings_class, settings_of

MODELS_OWN = "the model's own"


def model_setting(help: str = "", *more: Any, **others: Any) -> Any:
    """Declare a setting that the model decides from which a training starts, otherwise `usual`."""
    return setting(None, help, *more, inferred=MODELS_OWN, **others)


def usual_temperature(settings: EncoderSettings) -> float:
    """1, or 0.05 if embeddings have length 1"""
    return 0.05 if settings.normalize else 1.0


@settings_class
class EncoderSettings(GradientSettings):
    """Settings of all encoders: start, architecture, reading of texts, similarity, memory."""

    usual_negatives: ClassVar[int] = 1  # per query, or fewer if records have fewer
    part: ClassVar[str] = ""  # of a text that has an embedding, as in a model's metadata

    bf16: bool = setting(False, "compute in bfloat16 where it is safe", group="speed")
    chunk_size: int = setting(
        0,
        "texts in memory at a time, so that batches of any size fit; each is computed twice; "
        "0: the whole batch",
        "gradient caching, arXiv 2101.06983",
        low=0,
        high=1_000_000,
        group="speed",
    )
    checkpointing: bool = setting(
        False,
        "recompute each layer for its gradient: far less memory for long texts, about a third more "
        "time",
        "arXiv 1604.06174",
        group="speed",
    )
    model: str | None = setting(
        None,
        "start from this model: a local folder, a Hub name, or minilm (an extra); without it, "
        "train from scratch",
        group="common",
    )
    lora_rank: int | None = setting(
        None,
        "train an adapter of this rank instead of the start model's weights (an extra)",
        "arXiv 2106.09685",
        low=1,
        high=65_536,
        requires="model",
        group="speed",
    )
    size: str = setting(
        "mini",
        "size of a model from scratch",
        choices=("tiny", "mini", "wide", "small"),
        group="model",
    )
    vocabulary_size: int = setting(
        8000,
        "vocabulary size of a tokenizer trained on the records",
        low=400,
        high=1_000_000,
        group="model",
    )
    negatives_per_query: int | None = setting(
        None,
        "negatives per query, drawn in each epoch",
        inferred="1, or fewer if records have fewer",
        low=0,
        high=10_000,
        group="loss",
    )

    architecture: str = setting(
        "t5", "architecture of a model from scratch", choices=("t5", "bert"), group="model"
    )
    tag_tokens: bool | None = setting(
        None, "make each structure tag one token", usual=False, group="model"
    )
    pooling: str | None = model_setting(
        "pooling of token states into one embedding", "", POOLINGS, usual="mean", group="model"
    )
    mcls_every: int | None = model_setting(
        "tokens after each CLS token, for mcls",
        "SEAL, MCLS",
        low=1,
        high=MAX_TEXT_TOKENS,
        usual=MCLS_EVERY,
        group="model",
    )
    normalize: bool | None = model_setting(
        "scale embeddings to length 1", usual=True, group="model"
    )
    query_prompt: str | None = model_setting(
        "text to add before each query", usual="", group="texts"
    )
    document_prompt: str | None = model_setting(
        "text to add before each document", usual="", group="texts"
    )
    query_length: int | None = model_setting(
        "maximum tokens of a query", low=2, high=MAX_TEXT_TOKENS, usual=64, group="texts"
    )
    document_length: int | None = model_setting(
        "maximum tokens of a document", low=2, high=MAX_TEXT_TOKENS, usual=256, group="texts"
    )
    temperature: float | None = model_setting(
        "temperature that divides the scores of the contrastive loss",
        "SANTA, eq. 5",
        low=1e-6,
        high=1e6,
        usual=usual_temperature,
        group="loss",
    )
    symmetric: bool = setting(False, "add the loss from documents to queries", group="loss")
    matryoshka: str | None = setting(
        None,
        "sum the loss over these prefixes of embeddings, such as 64,128,256",
        "arXiv 2205.13147",
        group="loss",
    )
    distill: Literal["kl", "margin-mse"] | None = setting(
        None, "also learn a teacher's `scores` of positive and negatives", group="loss"
    )
    teacher_temperature: float = setting(
        1.0,
        "temperature that divides the teacher's scores, for kl",
        low=1e-6,
        high=1e6,
        requires="distill",
        group="loss",
    )

    @property
    def start(self) -> str | None:
        return self.model

    @property
    def frozen_start(self) -> str | None:
        return self.model if self.lora_rank else None

    @property
    def prefixes(self) -> tuple[int, ...]:
        """Numbers of `matryoshka`. Errors: one that is repeated, 0, or no number."""
        if self.matryoshka is None:
            return ()
        numbers = self.matryoshka.split(",")
        widths = tuple(int(each) for each in numbers if each.strip().isdecimal())
        if len(widths) < len(numbers) or 0 in widths or len({*widths}) < len(widths):
            raise wrong_usage(
                f"{flag('matryoshka', self.matryoshka)} is no list of different numbers above 0",
                "write 64,128,256",
            )
        return widths

    def with_teacher_scores(
        self, record: Record, kept: Record, negatives: str = "negatives"
    ) -> Record:
        """Return the kept fields of a record, with the teacher's scores if they are learned."""
        if self.distill is None:
            return kept
        return {**kept, "scores": teacher_scores(record, len(kept.get(negatives, ())))}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.prefixes  # noqa: B018 checked
        if self.lora_rank and self.tag_tokens:
            rank, tags = flag("lora_rank"), flag("tag_tokens")
            raise wrong_usage(
                f"{rank} freezes the vectors of tokens, also the new ones of {tags}",
                "leave one out",
            )

    def prepare(self, record: Record) -> Record:
        return self.with_teacher_scores(record, super().prepare(record))

    def complete(self) -> Self:
        """Return these settings, completed from the start model, or with usual values."""
        if not self.model:
            return self.fill_in({})
        given = given_values(self)
        own = own_metadata(model_folder(self.model, offline=True))
        if "transformer" in own:  # of sentence-transformers: the model decides what it leaves open
            from structkit.learning.encoders.models import natural_lengths

            known = own.get("lengths", {})
            whole = {"query", "document"} <= known.keys()
            own["lengths"] = known if whole else natural_lengths(own["transformer"]) | known
        for kind, named in (("prompt", "prompts"), ("length", "lengths")):
            own |= {f"{side}_{kind}": value for side, value in own.get(named, {}).items()}
        if given["normalize"] not in (None, own.get("normalize")):
            own.pop("temperature", None)  # it was for scores on another scale
        if own.get("part", "") != self.part:  # so were these, and lengths and prompts
            for name in ("temperature", "query_length", "document_length"):
                own.pop(name, None)
        return self.fill_in(own)

    def fill_in(self, own: Record) -> Self:
        """Return these settings, completed from the metadata `own`, or usual values."""
        settings = self
        for each in settings_of(type(self)):
            if each.inferred == MODELS_OWN and given_values(settings)[each.name] is None:
                value = own.get(each.name)
                value = getattr(settings, each.name) if value is None else value
                settings = change(settings, **{each.name: value})
        return settings

    @classmethod
    def load(cls, folder: Path, metadata: Record) -> Any:
        from structkit.learning.encoders.encoder import load_encoder

        return load_encoder(folder, metadata)


def check_decoder(settings: EncoderSettings) -> None:
    """Raise if the pooling needs a decoder that the model from scratch does not have."""
    decoder = settings.pooling == "first-decoder-token"
    if settings.architecture == "bert" and decoder and settings.model is None:
        none, other = flag("architecture", "bert"), flag("architecture", "t5")
        raise wrong_usage(f"{none} has no decoder", f"use {other}")
