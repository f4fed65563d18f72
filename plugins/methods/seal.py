"""SEAL: queries aligned with documents, first with masked elements, then with and without tags.

    contrast(q, V) = - log( exp(q . v+ / t) / sum over v in V of exp(q . v / t) ), mean over q
    element   (EAL) = contrast(q, masked)                                                  (eq. 4)
    structure (SAL) = ( contrast(q, tagged) + contrast(q, untagged) ) / 2                  (eq. 2)

q and v are embeddings of queries and of versions of documents, positive and negatives alike;
`masked` lacks the tags of a tenth of its elements. EAL is trained first, then SAL; t is the
temperature.

Records: `query`, `tagged`, `untagged` and `masked` (from html-variants), optional `negatives`.
Source: Huang et al. 2025, "SEAL: Structure and Element Aware Learning to Improve Long Structured
Document Retrieval" (EMNLP 2025).
"""

from __future__ import annotations

from typing import Any

from structkit.errors import UserError, program
from structkit.learning.encoders.settings import (
    EncoderSettings,
    check_decoder,
    model_setting,
)
from structkit.learning.training.data import Spool, keep_fields
from structkit.plugin import setting
from structkit.records.fields import remedy_for
from structkit.records.jsonl import Record
from structkit.settings import settings_class

SEAL_SECTION = "SEAL, section 4.1"
ORDERS = ("element,structure", "structure,element", "joint", "element", "structure")


def usual_tag_tokens(settings: Method) -> bool:
    """Yes from scratch"""
    return settings.model is None


@settings_class
class Method(EncoderSettings):
    """Settings of SEAL. The documents to search are embedded as `tagged`."""

    example = "structkit train seal variants.jsonl -o models/seal"
    shared = True
    records = (
        "`query`, `tagged`, `untagged`, `masked`; optional: `negatives_tagged`, "
        "`negatives_untagged`, `negatives_masked`"
    )
    needs = ("query", "tagged", "untagged", "masked")
    optional = (
        "negatives_tagged",
        "negatives_untagged",
        "negatives_masked",
    )
    document_fields = ("tagged",)

    stages: str = setting(
        "element,structure",
        "training stages: element (EAL), structure (SAL), each for all epochs; joint: the sum "
        "of both losses",
        "SEAL, table 7",
        ORDERS,
    )
    usual_negatives = 8

    architecture: str = setting("bert")
    tag_tokens: bool | None = setting(None, usual=usual_tag_tokens)
    pooling: str | None = model_setting(source="FlagEmbedding", usual="cls")
    normalize: bool | None = model_setting(source="FlagEmbedding", usual=True)
    query_length: int | None = model_setting(source=SEAL_SECTION, usual=32)
    document_length: int | None = model_setting(source=SEAL_SECTION, usual=4096)
    temperature: float | None = model_setting(source="FlagEmbedding's default for BGE", usual=0.02)
    negatives_per_query: int | None = setting(
        None,
        source=SEAL_SECTION,
        inferred="8, or fewer if records have fewer",
    )
    epochs: int = setting(2, "passes over the records in each stage", SEAL_SECTION)
    batch_size: int = setting(8, "records per step, over all processes", SEAL_SECTION)
    learning_rate: float = setting(1e-5, source=SEAL_SECTION)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_decoder(self)

    @property
    def stage_names(self) -> tuple[str, ...]:
        return tuple(self.stages.split(","))

    def prepare(self, record: Record) -> Record:
        """Return the used fields of a record. Errors: negatives without all their variants."""
        if "query" not in record:
            raise UserError(
                'field "query" is missing',
                f"make such records with {program('pair')} of qrels, queries and a corpus, then "
                f"{program('html-variants')}",
            )
        names = self.optional
        if any(name in record for name in ("negatives", *names)):
            for name in names:
                if name not in record:
                    raise UserError(f'field "{name}" is missing', remedy_for("tagged"))
        fields = keep_fields(record, self.needs, names)
        counts = {len(fields[name]) for name in names if name in fields}
        if len(counts) > 1:
            raise UserError(
                "the variants of the negatives differ in number",
                f"make them with {program('html-variants')}",
            )
        return self.with_teacher_scores(record, fields, "negatives_tagged")

    def build(self, spool: Spool) -> Any:
        from ._seal import Seal

        return Seal.of(self, spool)
