"""Models of other libraries: which files are read, which class reads them, how long a text may be.

Each follows sentence-transformers 6.2, `base/modules/transformer.py`.

Tests: tests/learning/encoders/test_start_models.py.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from operator import itemgetter
from pathlib import Path
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from torch import nn

from structkit.errors import UserError
from structkit.learning.folders import (
    ADAPTER_FILE,
    COPY_FOLDER_AGAIN,
    check_regular,
    damage_error,
    pickle_error,
    read_json,
    weight_types,
)
from structkit.learning.metadata import LIBRARY_CONFIG_FILE, MAX_TEXT_TOKENS

# errors that damaged folders have raised
DAMAGE_ERRORS = (
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    RuntimeError,
    AssertionError,
    SafetensorError,
    StrictDataclassError,
)
REPEATED_PARTS = re.compile("layer|block|group|depth|stage|expert")  # of a model, which repeat
MAX_REPETITIONS = 1000  # maximum repetitions, or as many as weights
FLOAT_TYPES = ("F64", "F32", "F16", "BF16")  # of safetensors, which need no scale
MAX_SIZE = 2**31  # beyond it, no number of a configuration is a size
# what is loaded from a folder: numbers and settings, no code
LOCAL_ONLY = {"local_files_only": True, "trust_remote_code": False}
LOCAL_SAFETENSORS = {**LOCAL_ONLY, "use_safetensors": True}


@contextmanager
def explain_damage(folder: Path) -> Iterator[None]:
    """Turn the errors of damaged files, while a folder is loaded, into one that names it."""
    try:
        yield
    except Exception as error:
        # tokenizers has no exception class: it raises Exception itself
        if not isinstance(error, DAMAGE_ERRORS) and type(error) is not Exception:
            raise
        raise loading_error(folder, error) from None


def check_model_folder(folder: Path) -> None:
    """Check the models in a folder and in those below it, which sentence-transformers will load."""
    for place in [folder, *(each for each in folder.rglob("*") if each.is_dir())]:
        check_regular(place)
        if (place / "config.json").exists():
            check_model(place)


def check_model(folder: Path) -> None:
    """Raise for a folder whose files transformers would wait for, or build without an end."""
    check_regular(folder)
    if (folder / ADAPTER_FILE).exists():
        raise UserError(
            f"the folder {folder} holds an adapter, not a model of its own",
            "merge it into its base model (merge_and_unload of peft), and save that",
        )
    config = read_json(folder / "config.json")
    if config is None:
        raise UserError(
            f"the folder {folder} holds no config.json", "name a folder that holds a model"
        )
    tensors = sum(len(weight_types(file)) for file in folder.glob("*.safetensors"))
    waiting = [("", config), ("", read_json(folder / LIBRARY_CONFIG_FILE))]  # nested settings
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(name, each) for each in value]
        elif "activation" in name and re.match(r"torch\.(?!nn\.)", str(value)):
            raise UserError(
                f"the model {folder} has the {name} {value:.80}, which structkit never runs",
                "use a model with an activation of torch.nn",
            )
        elif type(value) is int and value > (
            max(MAX_REPETITIONS, tensors) if REPEATED_PARTS.search(name) else MAX_SIZE
        ):
            raise damage_error(
                f"has {name} {value:,}, which is not plausible for {tensors:,} weights",
                folder / "config.json",
            )


def check_weights(folder: Path, model: Any, loading: Mapping[str, Any]) -> None:
    """Raise unless the weights in a folder are the model's, by what transformers says of loading.

    A head, a decoder or further layers may be left over, but nothing from inside a layer: it would
    be a scale or an adapter, without which the others mean something else.
    """
    for name, stored, expected in sorted(loading["mismatched_keys"]):
        raise UserError(
            f"the model {folder} holds the weight {name} of shape {[*stored]}, but its config.json "
            f"makes it {[*expected]}",
            "use the config.json that was saved with these weights",
        )
    # an untrained weight in a trained model is an error; the pooler is never used
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise ValueError(f"it lacks {len(missing)} weights ({missing[0]}, …)")
    prefix = f"{model.base_model_prefix}."
    modules, parameters = dict(model.named_modules()), dict(model.named_parameters())
    buffers = {name.rpartition(".")[2] for name, _ in model.named_buffers()}
    for key in sorted(loading["unexpected_keys"]):
        place = key.removeprefix(prefix)
        while place not in modules:
            place = place.rpartition(".")[0]
        inside = place and not isinstance(modules[place], nn.ModuleList | nn.ModuleDict)
        if inside and key.rpartition(".")[2] not in buffers:
            raise _weights_error(folder, f"{key} has no place in {type(model).__name__}")
    if getattr(model.config, "quantization_config", None):
        return
    for file in folder.glob("*.safetensors"):
        for key, kind in weight_types(file).items():
            if key.removeprefix(prefix) in parameters and kind not in FLOAT_TYPES:
                raise _weights_error(folder, f"{key} is {kind}, without a scale in config.json")


def _weights_error(folder: Path, problem: str) -> UserError:
    return UserError(
        f"the model {folder} cannot be used: its weight {problem}",
        "save the model in 16 or 32 bits by the program that made it (save_pretrained)",
    )


def check_tokenizer(folder: Path, tokenizer: Any, model: Any) -> None:
    """Raise for a tokenizer whose tokens, or types of tokens, the model cannot read."""
    if not tokenizer.is_fast:
        raise UserError(
            "the model's tokenizer has no tokenizer.json", "convert it with transformers"
        )
    if not isinstance(tokenizer.model_max_length, int | float):
        raise ValueError(f"model_max_length is not a number: {tokenizer.model_max_length!r:.80}")
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    token, number = max(tokenizer.get_vocab().items(), key=itemgetter(1), default=("", -1))
    if rows is not None and number >= rows:
        raise UserError(
            f"the model {folder} has vectors of {rows:,} tokens, but its tokenizer has the token "
            f"{token!r:.80} with number {number:,}",
            "resize the table (resize_token_embeddings of transformers), train it, and save it",
        )
    types = tokenizer("a").get("token_type_ids") if callable(tokenizer) else None
    if any(types or ()) and "token_type_ids" in signature(model.forward).parameters:
        raise UserError(
            f"the model {folder} reads types of tokens, which structkit does not give it",
            "use another model",
        )


def natural_length(tokenizer: Any, config: Any) -> int:
    """Return the default maximum tokens of a text, as sentence-transformers computes it.

    It is the smaller of `model_max_length` of the tokenizer and `max_position_embeddings`.
    """
    limits = [tokenizer.model_max_length, MAX_TEXT_TOKENS]
    positions = getattr(config, "max_position_embeddings", None)
    if positions not in (None, -1):  # XLNet's -1 is no limit
        limits.append(positions)
    return max(1, int(min(limits)))


def loading_error(folder: Path, error: Exception) -> UserError:
    """Return the error that explains an error of transformers on this folder."""
    if "trust_remote_code" in str(error):
        return UserError(
            f"the model {folder} is made by code of its own, which structkit never runs",
            "use a model whose architecture transformers has (BERT, ModernBERT, T5, Qwen3 …), or "
            "encode with the model's own program: search reads its embeddings too",
        )
    if not any(folder.glob("*.safetensors")):
        none = UserError(f"the folder {folder} holds no model.safetensors", COPY_FOLDER_AGAIN)
        return pickle_error(str(folder), os.listdir(folder)) or none
    if "model_type" in str(error):
        return UserError(
            f"config.json of {folder} names no model_type that transformers has",
            "use a model of transformers, sentence-transformers or model2vec",
        )
    return UserError(
        f"the model folder {folder} cannot be loaded: {error_summary(error)}", COPY_FOLDER_AGAIN
    )


def error_summary(error: Exception) -> str:
    """Return the first line of a message, cut short."""
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
