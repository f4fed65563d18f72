"""What a model folder says of itself: structkit's own facts, or sentence-transformers' files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from structkit import registry
from structkit.errors import UserError
from structkit.records.fields import DOCUMENT, QUERY
from structkit.records.jsonl import Record
from structkit.records.lines import cannot_read

FORMAT = 1
LOSSES = "losses.jsonl"  # the log of a training, in its model folder
FACTS = "structkit.json"
TABLE = "StaticEmbedding"  # sentence-transformers' module of token vectors and their mean
POOLING_NAMES = {"cls": "cls", "mean": "mean", "last-token": "lasttoken"}
OLD_NAMES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
# sentence-transformers' names for the prompt of a side; the first one present counts
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}


def has_facts(folder: Path) -> bool:
    """Whether there is a `structkit.json`, readable or not: `read_facts` says what is wrong."""
    return os.path.lexists(folder / FACTS)


def own_facts(folder: Path, *, pooling: str | None = None) -> Record:
    """Pooling, normalization, prompts, lengths … that a model folder states, if any.

    For a sentence-transformers folder, `transformer` is the folder of the model itself; its pooling
    is ignored where `pooling` is given. Errors: `UserError` for modules or poolings that cannot be
    reproduced.
    """
    if has_facts(folder):
        facts = read_facts(folder)
        facts["temperature"] = facts["settings"].get("temperature")
        known = ("pooling", "normalize", "prompts", "mcls_every", "lengths", "temperature")
        return {key: facts[key] for key in known if facts.get(key) is not None}
    modules = json_of(folder / "modules.json")
    if not modules:
        return {}
    try:
        return _sentence_facts(folder, modules, pooling)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise UserError(
            f"modules.json of {folder}, or a file that it names, is malformed ({error!r:.200})",
            AGAIN,
        ) from None


def _sentence_facts(folder: Path, modules: Any, pooling: str | None) -> Record:
    paths = {module["type"].rpartition(".")[2]: module["path"] for module in modules}
    if TABLE in paths and "Pooling" not in paths:
        paths["Transformer"] = paths.pop(TABLE)
    if unknown := sorted(set(paths) - {"Transformer", "Pooling", "Normalize"}):
        raise UserError(
            f"the model {folder} has a module {unknown[0]}, which structkit cannot compute",
            f"use a model of Transformer, Pooling and Normalize, or of {TABLE} and Normalize",
        )
    place = _inside(folder, paths["Transformer"])
    facts: Record = {"normalize": "Normalize" in paths, "transformer": place}
    if "Pooling" in paths and not pooling:
        said = json_of(_inside(folder, paths["Pooling"]) / "config.json")
        facts["pooling"] = _pooling(folder, said or {})
    about = json_of(folder / "config_sentence_transformers.json") or {}
    said = about.get("prompts") or {}
    named = {
        side: next((said[key] for key in names if said.get(key)), "")
        for side, names in PROMPTS.items()
    }
    default = said.get(about.get("default_prompt_name"), "")
    facts["prompts"] = {
        side: prompt or default for side, prompt in named.items() if prompt or default
    }
    limits = json_of(place / "sentence_bert_config.json") or {}
    if most := limits.get("max_seq_length"):
        facts["lengths"] = {"query": most, "document": most}
    for name, fits in (("lengths", are_lengths), ("prompts", are_prompts)):
        if name in facts and not fits(facts[name]):
            raise TypeError(f"{name} {facts[name]}")
    return facts


def _inside(folder: Path, path: str) -> Path:
    """A folder that a file of a model names; one that is not in the model's own folder raises."""
    place = folder / path
    if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder)):
        raise damaged(f"names a folder outside the model's: {path!r:.80}", folder / "modules.json")
    return place


def _pooling(folder: Path, said: Record) -> str:
    """Our name for the pooling in 1_Pooling/config.json."""
    modes = said.get("pooling_mode") or [mode for key, mode in OLD_NAMES.items() if said.get(key)]
    modes = [modes] if isinstance(modes, str) else list(modes)
    ours = [our for our, their in POOLING_NAMES.items() if [their] == modes]
    if not ours:
        raise UserError(
            f"the model {folder} has the pooling {' and '.join(modes) or 'none'}",
            "choose cls, mean or last-token with --pooling",
        )
    return ours[0]


def json_of(file: Path) -> Any:
    """The content of a JSON file; None where there is none."""
    try:
        return orjson.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(f"cannot be read: {error}", file) from None


def read_facts(folder: Path) -> Record:
    """The content of `structkit.json`, with each field checked.

    Errors: `UserError` where it is damaged, or newer than this structkit.
    """
    file = folder / FACTS
    try:
        facts = orjson.loads(file.read_bytes())
        _check(facts)
    except OSError as error:
        raise damaged(f"cannot be read: {error.strerror}", file) from None
    except ValueError as error:
        raise damaged(f"is not JSON, or cut short: {error}", file) from None
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
    return isinstance(value, str) and bool(value)


def _names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value))


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


def _data(value: Any) -> bool:
    return isinstance(value, dict) and is_count(value.get("records")) and _text(value.get("sha256"))


# what each field of structkit.json must be; one that may be missing may be None
OF_MODELS: dict[str, Callable[[Any], bool]] = {
    "pooling": lambda value: value is None or _text(value),
    "normalize": lambda value: value is None or isinstance(value, bool),
    "settings": lambda value: isinstance(value, dict),
    "query_fields": _names,
    "document_fields": _names,
    "data": _data,
    "steps": is_count,
    "losses": lambda value: isinstance(value, dict),
}


AGAIN = "copy the model folder again"


def damaged(problem: str, file: Path | None = None) -> UserError:
    """The error with the file, if it is known, and the remedy."""
    error = UserError(problem, AGAIN)
    return error if file is None else error.at(str(file))
