"""The training of SEAL: element-aware alignment, structure-aware learning."""

import torch
from torch import Tensor

from structkit.learning.encoders.dual_encoder import DualEncoder, Pairs, false_negatives, spread
from structkit.learning.training.data import Step
from structkit.records.jsonl import Record

# documents that a stage aligns queries with
STAGE_DOCUMENTS = {
    "element": ("masked",),
    "structure": ("tagged", "untagged"),
    "joint": ("masked", "tagged", "untagged"),
}


class Seal(DualEncoder):
    """Element-aware alignment (EAL) and structure-aware learning (SAL), one stage at a time."""

    def batch(self, records: list[Record], step: Step) -> Pairs:
        drawn, queries = "negatives_tagged", [record["query"] for record in records]
        texts = {"query": self.local_texts(queries, len(records), "query")}
        for name in STAGE_DOCUMENTS[step.stage]:
            documents = self.documents(records, step, name, f"negatives_{name}", drawn)
            texts[name] = self.local_texts(documents, len(records), "document", name)
        # equal documents may be masked differently: they are compared with all their tags
        tagged = self.documents(records, step, "tagged", drawn, drawn)
        teacher = self.teacher(records, step, drawn)
        return Pairs(texts, false_negatives(queries, tagged), self.document_mask(tagged), teacher)

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
            stage: torch.stack([losses[name] for name in STAGE_DOCUMENTS[stage]]).mean()
            for stage in ("element", "structure")
            if STAGE_DOCUMENTS[stage][0] in losses
        }
        total = torch.stack(list(stages.values())).sum()
        return total, {name: part.detach() for name, part in losses.items()}
