"""ColBERT: an embedding per token, and scores that sum the best match of each token of a query.

    score(q, d) = sum over rows i of q of max over rows j of d of q_i . d_j                  (eq. 3)
    loss        = - log( exp(score(q, d+) / t) / sum over d in D of exp(score(q, d) / t) )

A row is a token's state after a linear projection, of length 1. D are the documents of the batch, t
is the temperature. Queries are filled up to their length with the mask token, which stands for
words that are not there; tokens of punctuation have no rows in documents.

Records: `query`, `positive`, optional `negatives` and a teacher's `scores`.
Sources: Khattab and Zaharia 2020, "ColBERT" (arXiv 2004.12832), sections 3.2 and 3.3; Santhanam et
al. 2022, "ColBERTv2" (arXiv 2112.01488); defaults of PyLate 1.6.
"""

from __future__ import annotations

from typing import Any, Self

from structkit.learning.encoders.settings import EncoderSettings, model_setting
from structkit.learning.training.data import Spool
from structkit.records.jsonl import Record
from structkit.settings import setting, settings_class

COLBERT_SECTION = "ColBERT, section 3.2"


@settings_class
class Method(EncoderSettings):
    """Settings of late interaction."""

    example = "structkit train colbert examples.jsonl --model minilm -o models/colbert"
    shared = True
    part = "tokens"

    architecture: str = setting("bert")
    query_length: int | None = model_setting(source="PyLate", usual=32)
    document_length: int | None = model_setting(source="PyLate", usual=180)
    temperature: float | None = model_setting(source="PyLate", usual=1.0)
    learning_rate: float = setting(1e-5, source="ColBERTv2, appendix B")
    dimensions: int | None = setting(
        None,
        "numbers of a row, by a linear projection",
        COLBERT_SECTION,
        low=1,
        high=65_536,
        inferred="as the start model projects, or 128",
        group="model",
    )
    query_expansion: bool | None = model_setting(
        "fill queries up to their length with the mask token",
        COLBERT_SECTION,
        usual=True,
        group="texts",
    )
    skip_punctuation: bool | None = model_setting(
        "keep no rows of punctuation in documents", COLBERT_SECTION, usual=True, group="texts"
    )

    @classmethod
    def idle_options(cls) -> frozenset[str]:
        return super().idle_options() | {"pooling", "mcls_every", "normalize"}

    def fill_in(self, own: Record) -> Self:
        skipped = {"skip_punctuation": bool(own["skipped"])} if "skipped" in own else {}
        return super().fill_in(own | skipped | {"pooling": "mean", "normalize": True})

    def build(self, spool: Spool) -> Any:
        from ._colbert import ColBERT

        return ColBERT.of(self, spool)
