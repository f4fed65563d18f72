"""Cross-encoders: a model that reads a query and a document as one text and gives one score.

It is a sequence classifier of transformers with one label. Its folder is read as
sentence-transformers 6.2 reads a `CrossEncoder`, and is written so that all versions load it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Encoding
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, program
from structkit.learning.encoders.adapters import Adapter
from structkit.learning.encoders.heads import activation_of
from structkit.learning.encoders.models import (
    add_padding,
    positions,
)
from structkit.learning.encoders.pretrained import (
    DAMAGE,
    PLAIN,
    SAFE,
    check_model,
    check_tokenizer,
    damage_explained,
    explain,
    natural_length,
)
from structkit.learning.metadata import (
    ABOUT,
    PAIR_LENGTH,
    cross_encoder_metadata,
    has_metadata,
)
from structkit.learning.static import is_table
from structkit.learning.tokens import Truncation
from structkit.learning.training.method import LENGTH
from structkit.progress import say
from structkit.records.jsonl import Record
from structkit.records.output import write_json

PIECE = 16  # pairs that a CPU computes at a time
Pair = tuple[str, str]  # a query and a document


class CrossEncoder(nn.Module):
    """Classifier with one label, its tokenizer, and the activation that makes a score.

    `length` is the maximum tokens of a pair; the longer text of a pair is cut first.
    """

    def __init__(self, model: Any, tokenizer: Any, length: int, activation: nn.Module) -> None:
        super().__init__()
        add_padding(tokenizer)
        if model.config.pad_token_id is None:  # by which decoders find the last token
            model.config.pad_token_id = tokenizer.pad_token_id
        self.model, self.tokenizer, self.activation = model, tokenizer, activation
        self.adapter: Adapter | None = None  # while one is trained
        self.length = min(length, positions(model) or LENGTH)
        self.truncation = Truncation()
        self._takes = inspect.signature(model.forward).parameters

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def inputs(self, pairs: Sequence[Pair]) -> list[Encoding]:
        """Return pairs as tokens; longer ones are cut and counted."""
        queries, documents = zip(*pairs, strict=True)
        read = self.tokenizer(
            list(queries), list(documents), truncation="longest_first", max_length=self.length
        )
        encodings: list[Encoding] = read.encodings
        cut = sum(bool(encoding.overflowing) for encoding in encodings)
        self.truncation.count("pair", len(pairs), cut)
        return encodings

    def batch(self, inputs: Sequence[Encoding]) -> dict[str, Tensor]:
        """Return some inputs, padded as the model's tokenizer does, on the model's device."""
        rows = [{"input_ids": each.ids, "token_type_ids": each.type_ids} for each in inputs]
        padded = self.tokenizer.pad({name: [row[name] for row in rows] for name in rows[0]})
        known = {*self.tokenizer.model_input_names, "attention_mask"} & self._takes.keys()
        tensors = {name: torch.tensor(padded[name]) for name in padded if name in known}
        return {name: each.to(self.device) for name, each in tensors.items()}

    def logits(self, inputs: Sequence[Encoding]) -> Tensor:
        """Return the model's outputs, (inputs,), computed in chunks of about equal lengths."""
        size = PIECE if self.device.type == "cpu" else len(inputs)
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]))
        outputs = [
            self.model(**self.batch([inputs[place] for place in order[start : start + size]]))
            for start in range(0, len(order), size)
        ]
        logits = torch.cat([each.logits[:, 0].float() for each in outputs])
        return logits[torch.tensor(order, device=self.device).argsort()]

    def scores(self, inputs: Sequence[Encoding]) -> Vectors:
        """Return the score of each input, (inputs,)."""
        with torch.inference_mode():
            scores: Vectors = self.activation(self.logits(inputs)).cpu().numpy()
        return scores

    def save(self, folder: Path) -> None:
        """Write the model, its tokenizer, and the name of the activation for each version."""
        kind = type(self.activation)
        named = f"{kind.__module__}.{kind.__name__}"
        self.tokenizer.model_max_length = self.length
        self.model.config.sentence_transformers = {"activation_fn": named}
        (self.adapter.save if self.adapter else self.model.save_pretrained)(folder)
        self.tokenizer.save_pretrained(folder)
        versions = {"transformers": version("transformers"), "pytorch": torch.__version__}
        about = {"__version__": versions, "model_type": "CrossEncoder", "activation_fn": named}
        write_json(folder / ABOUT, about)


def start_cross_encoder(folder: Path) -> CrossEncoder:
    """Return the encoder or cross-encoder of a folder, to be trained; a missing head is new.

    Its scores will be sigmoids, 0 … 1.
    """
    model, tokenizer, metadata = _load(folder, new_head=True)
    natural = min(PAIR_LENGTH, natural_length(tokenizer, model.config))
    length = metadata.get("lengths", {}).get("document", natural)
    return after_first_pair(CrossEncoder(model, tokenizer, length, nn.Sigmoid()), folder)


def load_cross_encoder(folder: Path) -> CrossEncoder:
    """Return the trained cross-encoder in a folder, of structkit or of sentence-transformers.

    Errors: `UserError` for another kind of model, for more than one label, and for a damaged file.
    """
    model, tokenizer, metadata = _load(folder, new_head=False)
    natural = natural_length(tokenizer, model.config)
    length = metadata.get("lengths", {}).get("document", natural)
    activation = activation_of(metadata["activation"] or "torch.nn.Sigmoid", folder)
    return after_first_pair(CrossEncoder(model, tokenizer, length, activation), folder).eval()


def after_first_pair(encoder: CrossEncoder, folder: Path) -> CrossEncoder:
    """Return the cross-encoder of a folder, after a first pair: damaged files raise here."""
    try:
        scores = encoder.scores(encoder.inputs([("a", "a")]))
    except DAMAGE as error:
        raise explain(folder, error) from None
    if not np.isfinite(scores).all():
        raise spoiled_scores(str(folder))
    encoder.truncation.drain()
    return encoder


def spoiled_scores(model: str) -> UserError:
    """Return the error for a model that gives scores that are not finite."""
    remedy = f"train it again, with a lower {flag('learning_rate')}"
    return UserError(f"the scores of the cross-encoder {model} are not finite", remedy)


def _load(folder: Path, *, new_head: bool) -> tuple[Any, Any, Record]:
    """Return the classifier and the tokenizer of a folder, and its metadata."""
    if new_head and has_metadata(folder):  # ours, whose modules may be unknown elsewhere
        metadata: Record = {"transformer": folder}
    else:
        metadata = cross_encoder_metadata(folder, encoder=new_head)
    place = metadata["transformer"]
    if is_table(place):
        problem = f"the model {folder} is a table of token vectors, which reads no pairs"
        raise UserError(problem, "name an encoder such as BERT")
    check_model(place)
    with damage_explained(folder):
        config = AutoConfig.from_pretrained(place, **PLAIN)
        labels, config.num_labels = config.num_labels, 1
        if not new_head and labels != 1:
            raise _no_cross_encoder(folder, f"has {labels} labels")
        kind: Any = AutoModelForSequenceClassification
        model, loading = kind.from_pretrained(
            place, config=config, ignore_mismatched_sizes=new_head, output_loading_info=True, **SAFE
        )
        _check_weights(folder, model, loading, new_head=new_head)
        tokenizer = AutoTokenizer.from_pretrained(place, **PLAIN)
        check_tokenizer(folder, tokenizer, model, typed=True)
    return model.float(), tokenizer, metadata


def _check_weights(folder: Path, model: Any, loading: Record, *, new_head: bool) -> None:
    """Raise if weights of the encoder itself are missing, or any where no head may be new."""
    inner = f"{model.base_model_prefix}."
    missing = {*loading["missing_keys"], *(each[0] for each in loading["mismatched_keys"])}
    own = {key for key in missing if key.startswith(inner) and "pooler." not in key}
    decoder = {key for key in own if key.startswith(f"{inner}decoder.")}
    if missing and not new_head:
        raise _no_cross_encoder(folder, f"lacks {len(missing)} weights ({min(missing)}, …)")
    if own - decoder:
        raise ValueError(f"it lacks {len(own)} weights ({min(own)}, …)")
    if decoder:
        say(f"the model {folder} has no decoder, which its classifier reads: a new one is added")


def _no_cross_encoder(folder: Path, why: str) -> UserError:
    remedy = f"train one: {program('train')} cross-encoder"
    return UserError(f"the model {folder} {why}: it is no cross-encoder with one score", remedy)
