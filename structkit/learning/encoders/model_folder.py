"""Model folders: what `train` writes, and `encode` and `search` read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from structkit import registry
from structkit.errors import UserError, flag
from structkit.learning.encoders.encoder import Encoder, tried
from structkit.learning.encoders.pretrained import load_pretrained
from structkit.learning.encoders.settings import MCLS_EVERY, POOLINGS
from structkit.learning.encoders.tokenizer import end_with_eos
from structkit.learning.folders.facts import (
    POOLING_NAMES,
    has_facts,
    own_facts,
    plain_facts,
    read_facts,
)
from structkit.learning.folders.hub import model_folder
from structkit.learning.static.bag import Bag
from structkit.learning.static.encoder import opened_table
from structkit.records.jsonl import Record
from structkit.records.output import write_json


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the model, its tokenizer, and what sentence-transformers needs to load both.

    A pooling that it lacks is written as a module that it cannot find, so that it refuses the
    folder: without a list of modules it would silently take the mean.
    """
    if isinstance(encoder.model, Bag):
        table = encoder.model.table(encoder.tokenizing.tokenizer)
        table.write(folder, normalize=encoder.normalize)
        return
    tokenizer = encoder.tokenizing.tokenizer
    if tokenizer.pad_token_id is None:  # GPT-2's; others pad with it, and any masked token will do
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    encoder.model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if encoder.pooling in POOLING_NAMES:
        _save_sentence_transformers(encoder, folder)
    else:
        kind = f"structkit.only_structkit_encodes_with.pooling_{encoder.pooling.replace('-', '_')}"
        modules = [{"idx": 0, "name": "0", "path": "", "type": kind}]
        write_json(folder / "modules.json", modules)


def _save_sentence_transformers(encoder: Encoder, folder: Path) -> None:
    names = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if encoder.normalize:
        names.append(("2_Normalize", "Normalize"))
    modules = [
        {
            "idx": number,
            "name": str(number),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, (path, kind) in enumerate(names)
    ]
    for path, _ in names[1:]:
        (folder / path).mkdir()
    write_json(folder / "modules.json", modules)
    pooling = {
        "word_embedding_dimension": encoder.model.config.hidden_size,
        "pooling_mode_cls_token": encoder.pooling == "cls",
        "pooling_mode_mean_tokens": encoder.pooling == "mean",
        "pooling_mode_lasttoken": encoder.pooling == "last-token",
    }
    write_json(folder / "1_Pooling" / "config.json", pooling)
    versions = {"transformers": transformers.__version__, "pytorch": torch.__version__}
    about = {"__version__": versions, "similarity_fn_name": "dot"}
    prompts = {side: encoder.tokenizing.prompts.get(side, "") for side in ("query", "document")}
    write_json(folder / "config_sentence_transformers.json", {**about, "prompts": prompts})
    length = encoder.tokenizing.lengths["document"]
    write_json(
        folder / "sentence_bert_config.json", {"max_seq_length": length, "do_lower_case": False}
    )


def load_encoder(folder: Path, facts: Record) -> Encoder:
    """The encoder that `save_encoder` wrote, with the poolings and lengths of its facts."""
    decoder = facts["pooling"] == "first-decoder-token"
    return _encoder(folder, *load_pretrained(folder, decoder=decoder), facts)


def open_model(name: str, *, offline: bool = False, **changes: Any) -> tuple[Any, Record]:
    """The trained model in a folder, ready to encode, and its facts.

    A plain Hugging Face folder or hub name works as well, and a sentence-transformers one with its
    own pooling, normalization, length and prompts. `changes` override what the model says, unless
    they are None. Errors: `UserError` that names the file and the remedy.
    """
    changes = {key: value for key, value in changes.items() if value is not None}
    if changes.get("pooling", "mean") not in POOLINGS:
        problem = f"{flag('pooling', changes['pooling'])} is not {' or '.join(POOLINGS)}"
        raise UserError(problem, "name one of them", status=2)
    folder = model_folder(name, offline=offline)
    if table := opened_table(folder, changes):
        return table
    if has_facts(folder):
        facts = read_facts(folder) | changes
        method = registry.load("method", facts["method"], status=1)
        model = method.load(folder, facts)
    else:
        own = own_facts(folder, pooling=changes.get("pooling"))
        model, tokenizer = load_pretrained(
            own.pop("transformer", folder),
            decoder=changes.get("pooling") == "first-decoder-token",
        )
        facts = plain_facts(fitting_pooling(model, tokenizer)) | own | changes
        if facts["pooling"] == "last-token" and "pooling" not in own:
            end_with_eos(tokenizer)
        model = _encoder(folder, model, tokenizer, facts)
    if isinstance(model, nn.Module):  # a parser is not one
        model.eval()
    return model, facts | {"folder": folder}


def _encoder(folder: Path, model: Any, tokenizer: Any, facts: Record) -> Encoder:
    encoder = Encoder(
        model,
        tokenizer,
        facts["pooling"],
        facts["normalize"],
        facts["lengths"],
        prompts=facts.get("prompts"),
        mcls_every=facts.get("mcls_every", MCLS_EVERY),
    )
    return tried(encoder, folder)


def fitting_pooling(model: Any, tokenizer: Any) -> str:
    """The pooling for a model that states none: cls where possible, or mean, or last-token."""
    if tokenizer.cls_token_id is not None:
        return "cls"
    return "mean" if model.config.is_encoder_decoder else "last-token"
