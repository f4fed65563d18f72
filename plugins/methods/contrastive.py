"""Contrastive fine-tuning of one encoder on queries and positives, with in-batch negatives.

Any encoder works (BERT, RoBERTa, T5, …). Records: `query`, `positive` (or another
field), optional `negatives`.
"""

from __future__ import annotations

from typing import Any

from structkit.errors import UserError
from structkit.learning.encoders.settings import EncoderSettings, check_decoder
from structkit.learning.training.data import Spool, keep_fields
from structkit.plugin import setting
from structkit.records.fields import remedy_for
from structkit.records.jsonl import Record
from structkit.settings import settings_class

VARIANTS = ("tagged", "untagged", "masked")  # html-variants makes them for negatives too


@settings_class
class Method(EncoderSettings):
    """Settings of plain contrastive training; defaults as in sentence-transformers' examples."""

    example = "structkit train contrastive examples.jsonl -o models/contrastive"
    shared = True
    records = "`query`, `positive` or the field of {document_field}; optional: `negatives`"

    document_field: str = setting(
        "positive",
        "field with the document; `untagged` is the raw text that html-variants writes",
        group="texts",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_decoder(self)

    def prepare(self, record: Record) -> Record:
        """Return a record's query, its document as `positive`, and its negatives."""
        field = self.document_field
        negatives = f"negatives_{field}" if field in VARIANTS else "negatives"
        if negatives not in record and "negatives" in record:
            raise UserError(f'field "{negatives}" is missing', remedy_for(field))
        fields = keep_fields(record, ("query", field), (negatives,))
        kept = {"id": fields["id"], "query": fields["query"], "positive": fields[field]}
        kept |= {"negatives": fields[negatives]} if negatives in fields else {}
        return self.with_teacher_scores(record, kept)

    def build(self, spool: Spool) -> Any:
        from structkit.learning.encoders.dual_encoder import DualEncoder

        module = DualEncoder.of(self, spool)
        if self.document_field != "positive":
            module.document_fields = (self.document_field,)
        return module
