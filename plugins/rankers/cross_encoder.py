"""A model that reads query and hit together: a cross-encoder (--model)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.extras import SENTENCE_TRANSFORMERS, require
from structkit.learning.encoders.pretrained import check_model_folder, explain_damage
from structkit.learning.folders import model_folder, weight_types
from structkit.learning.static import is_table
from structkit.learning.training.devices import chosen_device
from structkit.plugin import setting
from structkit.progress import say
from structkit.ranking.reranking import Candidate, Query
from structkit.records.fields import document_text
from structkit.settings import settings_class

LEAST_STEP = 2.0**-23  # share of a score by which the next one is lower: a run has 32 bits
SOME = "name a folder or Hub name, such as cross-encoder/ms-marco-MiniLM-L6-v2"


@settings_class
class Ranker(plugin.Ranker):
    """The model's own score, after its activation: 0 … 1 where that is a sigmoid.

    Hits are in the order of the scores before the activation, which makes large ones equal.
    The package sentence-transformers, an extra, computes it. Source: Nogueira and Cho 2019,
    "Passage Re-ranking with BERT" (arXiv 1901.04085).
    """

    model: str = setting(..., remedy=lambda: SOME)
    document_field: str | None = None
    offline: bool = False

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return the score of each hit; the first query with hits that are cut is reported."""
        texts = [document_text(hit.record, self.document_field) for hit in hits]
        if not self.reported:
            self.report_cut(query, texts)
        pairs = [(query.text, text) for text in texts]
        logits: Floats = self.encoder.predict(
            pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False
        )
        if not np.isfinite(logits).all():
            problem = f"the scores of the cross-encoder {self.model} are not finite"
            raise UserError(problem, "use another model")
        scores = self.encoder.activation_fn(torch.from_numpy(logits)).numpy()
        return in_order_of(logits, scores.astype(np.float64))

    def report_cut(self, query: Query, texts: Sequence[str]) -> None:
        """Say how many texts are longer, with the query, than the model reads."""
        read = self.encoder.tokenizer([query.text] * len(texts), texts, verbose=False)["input_ids"]
        most = self.encoder.max_seq_length or float("inf")
        cut = sum(len(ids) > most for ids in read)
        if cut:
            self.reported.add(query.id)
            longer = f"longer than {most} tokens, and cut"
            say(f"query {query.id} and {cut:,} of its hits are {longer}; others may be, too")

    @cached_property
    def reported(self) -> set[str]:
        """The query whose hits are reported as cut: the first one."""
        return set()

    @cached_property
    def encoder(self) -> Any:
        """The model, on the fastest device. Errors: it is damaged, or gives not one score."""
        library = require("sentence_transformers", SENTENCE_TRANSFORMERS)
        folder = model_folder(self.model, offline=self.offline)
        if is_table(folder):
            raise UserError(f"the model {folder} is a table of token vectors", SOME)
        check_model_folder(folder)
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        with explain_damage(folder):
            encoder = library.CrossEncoder(
                str(folder),
                device=str(chosen_device()),
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        model = encoder.transformers_model
        inner = f"{model.base_model_prefix}."
        heads = {name for name, _ in model.named_parameters() if not name.startswith(inner)}
        # the library makes a new head, of random numbers, for a folder without one
        lost = heads.difference(*map(weight_types, folder.rglob("*.safetensors")))
        if encoder.num_labels != 1 or lost:
            why = f"lacks {min(lost)}" if lost else f"has {encoder.num_labels} labels"
            raise UserError(f"the model {folder} {why}: it is no cross-encoder", SOME)
        return encoder


def in_order_of(logits: Floats, scores: Floats) -> Floats:
    """Return scores (hits,), lowered a little where those of unequal logits would be equal.

    >>> in_order_of(np.array([30.0, 40.0, 40.0]), np.array([1.0, 1.0, 1.0])).argmin()
    np.int64(0)
    """
    ordered = scores.copy()
    best_first = np.argsort(-logits, kind="stable")
    for better, worse in pairwise(best_first):
        highest = ordered[better]
        if logits[worse] < logits[better]:
            highest -= max(abs(highest), 1e-30) * LEAST_STEP
        ordered[worse] = min(ordered[worse], highest)
    return ordered
