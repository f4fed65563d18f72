"""Static embeddings: a table of token vectors, distilled from any encoder; needs no torch.

Records, if any: texts, as `encode` reads them; their words are added to the vocabulary. Without
--model the vectors are random, to be trained by contrastive. Source: model2vec
(https://github.com/MinishLab/model2vec).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structkit import plugin
from structkit.errors import UserError, flag, program
from structkit.learning.training.data import Spool
from structkit.plugin import setting
from structkit.records.fields import DOCUMENT_FIELDS, QUERY_FIELDS, text_name
from structkit.records.jsonl import Record, text_field
from structkit.settings import settings_class


def usual_dimensions(settings: Method) -> int:
    """256 (model2vec's), from scratch 512"""
    return 256 if settings.model else 512


@settings_class
class Method(plugin.Method):
    """Settings of a table of token vectors."""

    example = "structkit train static functions.jsonl -o models/static"
    without_records = True
    records = "`query` and `positive`, or a text as for encode; none are needed with {model}"

    model: str | None = setting(
        None,
        "distill this encoder: a local folder, a Hub name, or minilm (an extra); without it, "
        "vectors start at random",
        group="common",
    )
    dimensions: int = setting(
        None,
        "dimensions of a vector: the first principal components of an encoder's vectors",
        usual=usual_dimensions,
        low=1,
        high=65_536,
        group="model",
    )
    saturating: bool = setting(False, "count a token that occurs n times √n times", group="model")
    vocabulary_size: int = setting(
        8_000,
        "vocabulary size of the tokenizer trained on the records (from scratch only)",
        low=400,
        high=1_000_000,
        group="model",
    )

    @property
    def start(self) -> str | None:
        return self.model

    def prepare(self, record: Record) -> Record:
        """Return all texts of a training pair, or the text of a document."""
        names = ["query", "positive"]
        if not record.keys() >= set(names):
            remedy = f"rename the text's field with {program('select')} {flag('rename')}"
            names = [text_name(record, (*DOCUMENT_FIELDS, *QUERY_FIELDS), remedy)]
        return {"id": record["id"], "texts": [text_field(record, name) for name in names]}

    def build(self, spool: Spool) -> Any:
        from ._static import Distilled, distill_table, random_table

        if not len(spool) and not self.model:
            raise UserError(
                "without records there are no frequencies of words",
                f"give a file of texts, or {flag('model')}",
            ).at(spool.source)
        table = distill_table(self, spool) if self.model else random_table(self, spool)
        return Distilled(self, table)

    def texts(self, spool: Spool) -> Iterator[str]:
        """Yield all texts of the records."""
        for record in spool:
            yield from record["texts"]

    @classmethod
    def load(cls, folder: Path, metadata: Record) -> Any:
        from structkit.learning.static import StaticEncoder, Table

        return StaticEncoder(Table.read(folder), metadata)
