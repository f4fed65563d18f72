"""The training of SEAL: element-aware alignment, structure-aware learning."""

from __future__ import annotations

import torch
from torch import Tensor

from structkit.learning.encoders.dual_encoder import DualEncoder, Pairs, spread
from structkit.learning.encoders.grad_cache import LocalTexts
from structkit.learning.training.plan import Step
from structkit.records.jsonl import Record

# documents that a stage aligns queries with
DOCUMENTS = {
    "element": ("masked",),
    "structure": ("tagged", "untagged"),
    "joint": ("masked", "tagged", "untagged"),
}


class Seal(DualEncoder[Pairs]):
    """Element-aware alignment (EAL) and structure-aware learning (SAL), one stage at a time."""

    def batch(self, records: list[Record], step: Step) -> Pairs:
        count = len(records)
        texts: dict[str, LocalTexts] = {
            "query": self.part([record["query"] for record in records], count, "query")
        }
        for name in DOCUMENTS[step.stage]:
            documents = self.variants(records, step, name)
            texts[name] = self.part(documents, count, "document", name)
        # equal documents may be masked differently: they are compared with all their tags
        tagged = self.variants(records, step, "tagged")
        teacher = self.teacher(records, step, "negatives_tagged")
        return Pairs(texts, self.excluded(records, tagged), self.present(tagged), teacher)

    def variants(self, records: list[Record], step: Step, name: str) -> list[str | None]:
        """Return one variant of each record's document, then of its negatives."""
        texts: list[str | None] = []
        for record in records:
            negatives = self.negative_texts(record, step, f"negatives_{name}", "negatives_tagged")
            texts += [record[name], *negatives]
        return texts

    def objective(
        self, inputs: Pairs, embeddings: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return EAL (eq. 4), SAL (eq. 2: one softmax per version), or their sum."""
        losses = {
            name: self.contrast(embeddings["query"], spread(documents, inputs.present), inputs)
            for name, documents in embeddings.items()
            if name != "query"
        }
        stages = {
            stage: torch.stack([losses[name] for name in DOCUMENTS[stage]]).mean()
            for stage in ("element", "structure")
            if DOCUMENTS[stage][0] in losses
        }
        total = torch.stack(list(stages.values())).sum()
        return total, {name: part.detach() for name, part in losses.items()}
