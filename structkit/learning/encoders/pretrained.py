"""Pretrained models and tokenizers: loaded whole, or one clear error."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from tokenizers import AddedToken
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForTextEncoding,
    AutoTokenizer,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

from structkit.errors import UserError
from structkit.learning.folders.hub import PICKLES, pickled
from structkit.learning.static.bag import load_bag
from structkit.learning.static.table import is_table

# what damaged folders have been seen to raise
DAMAGE = (
    *(OSError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError),
    *(RuntimeError, AssertionError, SafetensorError, StrictDataclassError),
)

AGAIN = "copy the folder again"
# what is loaded of a folder: numbers and settings, no code of its own
PLAIN = {"local_files_only": True, "trust_remote_code": False}
SAFE = {**PLAIN, "use_safetensors": True}

transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def load_pretrained(folder: Path, *, decoder: bool = False, head: bool = False) -> tuple[Any, Any]:
    """The model and tokenizer of a folder.

    `decoder` keeps the decoder of an encoder-decoder model, `head` also the layer that predicts
    tokens. Errors: `UserError` that names the folder, or the file in it that is missing or damaged.
    """
    if is_table(folder):
        if decoder or head:
            raise UserError(f"the model {folder} is a table of token vectors", "use --pooling mean")
        return load_bag(folder)
    if not (folder / "config.json").is_file():
        raise UserError(
            f"the folder {folder} holds no config.json", "name a folder that holds a model"
        )
    try:
        return _load(folder, decoder, head)
    except ImportError as error:
        problem = f"the model {folder} needs a package: {_line(error)}"
        raise UserError(problem, "install it") from None
    except Exception as error:
        # tokenizers has no class of its own: it raises Exception itself
        if not isinstance(error, DAMAGE) and type(error) is not Exception:
            raise
        raise explained(folder, error) from None


def _load(name: Path, decoder: bool, head: bool) -> tuple[Any, Any]:
    config = AutoConfig.from_pretrained(name, **PLAIN)
    if (decoder or head) and not config.is_encoder_decoder:
        raise UserError(f"the model {name} has no decoder", "use a T5 model, or another pooling")
    kind: Any = AutoModelForSeq2SeqLM if head else AutoModel
    if not decoder and not head and config.model_type in MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES:
        kind = AutoModelForTextEncoding  # of a T5, only the encoder
    model, loading = kind.from_pretrained(name, **SAFE, output_loading_info=True)
    # an untrained weight in a trained model is an error; the pooler is never used
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise UserError(
            f"the model {name} lacks {len(missing)} weights ({missing[0]}, …)",
            AGAIN,
        )
    tokenizer = AutoTokenizer.from_pretrained(name, **PLAIN)
    if not isinstance(tokenizer.model_max_length, int | float):
        raise UserError(
            f"model_max_length is not a number: {tokenizer.model_max_length!r:.80}",
            AGAIN,
        ).at(str(name / "tokenizer_config.json"))
    return model.float(), tokenizer


def add_tokens(model: Any, tokenizer: Any, names: Sequence[str]) -> None:
    """Make strings one token each, starting as the mean of the tokens that each was before."""
    known = tokenizer.get_vocab()
    new = [name for name in names if name not in known]
    pieces = [tokenizer(name, add_special_tokens=False)["input_ids"] for name in new]
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in new])
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    weights = model.get_input_embeddings().weight.data
    for name, ids in zip(new, pieces, strict=True):
        weights[tokenizer.convert_tokens_to_ids(name)] = weights[ids].mean(0)


def explained(folder: Path, error: Exception) -> UserError:
    """What an error of transformers on this folder means."""
    if "trust_remote_code" in str(error):
        return UserError(
            f"the model {folder} is made by code of its own, which structkit never runs",
            "use a model whose architecture transformers has (BERT, ModernBERT, T5, Qwen3 …), or "
            "encode with the model's own program: search reads its embeddings too",
        )
    weights = sorted(file.name for file in folder.glob("*.safetensors"))
    if not weights:
        if pickles := sorted(file.name for file in folder.glob("*") if file.suffix in PICKLES):
            return pickled(str(folder), pickles[0])
        return UserError(f"the folder {folder} holds no model.safetensors", AGAIN)
    if "tokenizer" in str(error) and not (folder / "tokenizer.json").is_file():
        return UserError(f"the folder {folder} holds no tokenizer.json", AGAIN)
    if isinstance(error, SafetensorError):
        return UserError(f"{folder / weights[0]} is damaged: {error}", AGAIN)
    return UserError(f"the model folder {folder} cannot be loaded: {_line(error)}", "copy it again")


def _line(error: Exception) -> str:
    """The first line of a message, cut short."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
