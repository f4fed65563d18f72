"""SANTA: one T5 that aligns queries with documents and predicts masked entities.

    loss      = alignment_weight * alignment + entity_weight * entity                      (eq. 4)
    alignment = - log( exp(q . d+ / t) / sum over d in D of exp(q . d / t) ), mean over q  (eq. 5)
    entity    = - sum over j of log P(target_j | masked, target_<j), mean per token        (eq. 6-7)

q and d are embeddings of queries and documents: the decoder's state at its start token (eq. 1). D
are the documents of the batch, t is the temperature. With labels that state is the same, so one
pass over the masked document gives both its embedding and its entity loss.

Records: `query`, `positive`, `masked` and `target` (from mask-entities), optional `negatives`.
Source: Li et al. 2023, "Structure-Aware Language Model Pretraining Improves Dense Retrieval on
Structured Data" (https://aclanthology.org/2023.findings-acl.734), released code for the settings.
"""

from __future__ import annotations

from typing import Any

from structkit.errors import flag, wrong_usage
from structkit.learning.encoders.settings import EncoderSettings, model_setting
from structkit.learning.metadata import MAX_TEXT_TOKENS
from structkit.learning.training.data import Spool
from structkit.settings import setting, settings_class

RELEASED_CODE = "SANTA's released code"


@settings_class
class Method(EncoderSettings):
    """Settings of SANTA's pretraining; fine-tuning is `--entity-weight 0` with other numbers."""

    example = (
        "structkit pair functions.jsonl | structkit mask-entities | "
        "structkit train santa -o models/santa"
    )
    shared = True
    records = "`query`, `positive`, `masked`, `target`; optional: `negatives`"
    needs = ("query", "positive", "masked", "target")

    pooling: str | None = model_setting(source="SANTA, eq. 1", usual="first-decoder-token")
    normalize: bool | None = model_setting(source="SANTA, eq. 2: dot product", usual=False)
    query_length: int | None = model_setting(source=RELEASED_CODE, usual=50)
    document_length: int | None = model_setting(source=RELEASED_CODE, usual=240)
    target_length: int | None = model_setting(
        "maximum tokens of a target",
        RELEASED_CODE,
        low=2,
        high=MAX_TEXT_TOKENS,
        usual=35,
        group="texts",
    )
    epochs: int = setting(6, source=RELEASED_CODE)
    batch_size: int = setting(16, source=RELEASED_CODE)
    learning_rate: float = setting(5e-5, source=RELEASED_CODE)
    alignment_weight: float = setting(
        1.0, "weight of the contrastive loss (SDA)", "SANTA, eq. 4", low=0.0, high=1e6, group="loss"
    )
    entity_weight: float = setting(
        1.0, "weight of entity prediction (MEP)", "SANTA, eq. 4", low=0.0, high=1e6, group="loss"
    )
    align_on: str = setting(
        "masked",
        "field of the document that queries are aligned with",
        "released code",
        ("masked", "original"),
        group="loss",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alignment_weight and not self.entity_weight:
            raise wrong_usage(
                f"{flag('alignment_weight')} and {flag('entity_weight')} are both 0",
                "leave one out",
            )

    @classmethod
    def idle_options(cls) -> frozenset[str]:
        return super().idle_options() | {"mcls_every"}

    def build(self, spool: Spool) -> Any:
        from ._santa import build_santa

        return build_santa(self, spool)
