"""A model that reads query and hit together: a cross-encoder (--model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from transformers.utils import logging

from structkit import plugin
from structkit.embeddings.vectors import Floats
from structkit.errors import UserError
from structkit.extras import SENTENCE_TRANSFORMERS, require
from structkit.learning.encoders.pretrained import check_model_folder, explain_damage
from structkit.learning.folders import model_folder, weight_names
from structkit.learning.static import is_table
from structkit.learning.tokens import Truncation
from structkit.learning.training.devices import chosen_device
from structkit.plugin import setting
from structkit.progress import say
from structkit.ranking.reranking import Candidate, Query
from structkit.records.fields import document_text

SOME = "name a folder or Hub name, such as cross-encoder/ms-marco-MiniLM-L6-v2"


@dataclass(frozen=True)
class Ranker(plugin.Ranker):
    """The model's own score, after its activation: 0 … 1 where that is a sigmoid.

    The package sentence-transformers, an extra, computes it. Source: Nogueira and Cho 2019,
    "Passage Re-ranking with BERT" (arXiv 1901.04085).
    """

    model: str = setting(..., remedy=lambda: SOME)
    document_field: str | None = None
    offline: bool = False

    def scores(self, query: Query, hits: Sequence[Candidate]) -> Floats:
        """Return the score of each hit; the first query with hits that are cut is reported."""
        texts = [document_text(hit.record, self.document_field) for hit in hits]
        if not self.truncation.truncated["pair"]:
            self.report_cut(query, texts)
        pairs = [(query.text, text) for text in texts]
        scores = self.encoder.predict(pairs, show_progress_bar=False)
        if not np.isfinite(scores).all():
            problem = f"the scores of the cross-encoder {self.model} are not finite"
            raise UserError(problem, "use another model")
        return np.asarray(scores, np.float64)

    def report_cut(self, query: Query, texts: Sequence[str]) -> None:
        """Count the texts that are longer, with the query, than the model reads, and say so."""
        read = self.encoder.tokenizer([query.text] * len(texts), texts, verbose=False)["input_ids"]
        most = self.encoder.max_seq_length or float("inf")
        cut = sum(len(ids) > most for ids in read)
        self.truncation.count("pair", len(texts), cut)
        if cut:
            longer = f"longer than {most} tokens, and cut"
            say(f"query {query.id} and {cut:,} of its hits are {longer}; others may be, too")

    @cached_property
    def truncation(self) -> Truncation:
        """The pairs that were cut, until the first ones."""
        return Truncation()

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
        lost = heads.difference(*map(weight_names, folder.rglob("*.safetensors")))
        if encoder.num_labels != 1 or lost:
            why = f"lacks {min(lost)}" if lost else f"has {encoder.num_labels} labels"
            raise UserError(f"the model {folder} {why}: it is no cross-encoder", SOME)
        return encoder
