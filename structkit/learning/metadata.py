"""The metadata of a model folder: structkit's own, or sentence-transformers'.

Common folders of sentence-transformers are read as that library reads them; for a rare one
`OddModel` is raised, and the library encodes with it. `modules.json` names the modules: a
Transformer, its Pooling, and later modules, Dense and Normalize. Source: sentence-transformers 6.2,
`base/modules` and `sentence_transformer/modules`.

Tests: tests/learning/test_sentence_folders.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from structkit.errors import UserError, flag
from structkit.extras import EXTRAS, SENTENCE_TRANSFORMERS, install
from structkit.learning.folders import COPY_FOLDER_AGAIN, damage_error, read_json
from structkit.records.fields import DOCUMENT_FIELDS, QUERY_FIELDS
from structkit.records.jsonl import Record

MAX_TEXT_TOKENS = 1_000_000  # tokens of any text
UNLIMITED_LENGTHS = {"query": MAX_TEXT_TOKENS, "document": MAX_TEXT_TOKENS}
METADATA_FORMAT = 1
METADATA_FILE = "structkit.json"
# the fields that each folder of ours has
REQUIRED_FIELDS = {
    "format",
    "method",
    "settings",
    "pooling",
    "normalize",
    "data",
    "steps",
    "losses",
    "query_fields",
    "document_fields",
}
# metadata of a folder of ours that a training from it keeps
KEPT_FIELDS = (
    "pooling",
    "normalize",
    "prompts",
    "mcls_every",
    "lengths",
    "temperature",
    "similarity",
    "part",
    "skipped",
    "query_expansion",
    "attend",
)
TABLE_MODULE = "StaticEmbedding"  # the module of token vectors and their mean
LIBRARY_PREFIX = "sentence_transformers."
MODULE_PREFIX = f"{LIBRARY_PREFIX}models."  # where all versions find the modules
LIBRARY_CONFIG_FILE = "config_sentence_transformers.json"
# our names of poolings, and theirs
POOLING_NAMES = {"cls": "cls", "mean": "mean", "last-token": "lasttoken"}
POOLINGS = (*POOLING_NAMES, "first-decoder-token", "mcls")
MCLS_EVERY = 256  # tokens after each CLS token, unless a model sets it
# how older folders name them
POOLING_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "lasttoken",
}
TRANSFORMER_CONFIG_FILE = "sentence_bert_config.json"  # of a Transformer
# inputs and outputs of modules
TEXT_OUTPUT = "sentence_embedding"
TOKEN_OUTPUT = "token_embeddings"
# names of prompts for a side; the first one present counts, also if empty
PROMPT_NAMES = {"query": ("query",), "document": ("document", "passage", "corpus")}
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
# models that give a row per token: types of sentence-transformers 6 and of PyLate 1, the first kind
MULTI_VECTOR_TYPE = "MultiVectorEncoder"
PYLATE_TYPE = "ColBERT"
STANFORD_ARCHITECTURE = "HF_ColBERT"
PYLATE_DENSE = "pylate.models.Dense.Dense"  # computed as the library's Dense
PYLATE_KEYS = (
    "query_prefix",
    "document_prefix",
    "query_length",
    "document_length",
    "skiplist_words",
    "do_query_expansion",
    "attend_to_expansion_tokens",
)
# settings of transformers that change how a model is computed, not its result
HARMLESS_ARGUMENTS = {
    "trust_remote_code",
    "torch_dtype",
    "dtype",
    "attn_implementation",
    "padding_side",
    "use_cache",
    "device_map",
    "low_cpu_mem_usage",
}
TEXT_INPUT = {"method": "forward", "method_output_name": "last_hidden_state"}
# required settings of a Transformer, where present
REQUIRED_SETTINGS = {
    "transformer_task": "feature-extraction",
    "module_output_name": "token_embeddings",
}
UNSUPPORTED_SETTINGS = ("do_lower_case", "query_expansion", "processing_kwargs")
ARGUMENT_SETTINGS = (
    "model_args",
    "tokenizer_args",
    "config_args",
    "model_kwargs",
    "processor_kwargs",
    "config_kwargs",
)


class OddModel(UserError):
    """A model that sentence-transformers computes, and structkit does not."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"the model {folder} {problem}, which structkit does not compute itself",
            "use another model, or encode with the package sentence-transformers: "
            + install(*EXTRAS[SENTENCE_TRANSFORMERS]),
        )


def has_metadata(folder: Path) -> bool:
    """Return whether there is a `structkit.json`; `read_metadata` reports a damaged one."""
    return os.path.lexists(folder / METADATA_FILE)


def own_metadata(folder: Path) -> Record:
    """Return pooling, normalization, prompts, lengths … that a model folder states, if any.

    `head` are the modules after the pooling: kinds and folders. For a folder of
    sentence-transformers, `transformer` is the folder of the model itself. Errors: `OddModel`.
    """
    if has_metadata(folder):
        metadata = read_metadata(folder)
        metadata["temperature"] = metadata["settings"].get("temperature")
        own = {key: metadata[key] for key in KEPT_FIELDS if metadata.get(key) is not None}
        head = head_modules(folder)
        return own | ({"head": head} if head else {})
    return sentence_metadata(folder)


def read_metadata(folder: Path) -> Record:
    """Read `structkit.json`. Errors: `UserError` if it is damaged, or newer than this structkit."""
    file = folder / METADATA_FILE
    metadata: Record = read_json(file)
    if not (isinstance(metadata, dict) and metadata.keys() >= REQUIRED_FIELDS):
        raise damage_error("is not a file that structkit wrote", file)
    if metadata["format"] != METADATA_FORMAT:
        problem = (
            f"has format {metadata['format']}, but this structkit reads format {METADATA_FORMAT}"
        )
        raise UserError(problem, "upgrade structkit").at(str(file))
    return metadata


def plain_metadata(pooling: str) -> Record:
    """Return the metadata of a model that structkit did not train."""
    return {
        "method": "",
        "pooling": pooling,
        "normalize": True,
        "prompts": {},
        "lengths": {"query": 512, "document": 512},
        "query_fields": QUERY_FIELDS,
        "document_fields": DOCUMENT_FIELDS,
    }


def sentence_metadata(folder: Path) -> Record:
    """Return the metadata in a folder; nothing if it has no `modules.json`.

    `transformer` is the folder of the model itself, `head` the kinds and folders of the modules
    after the pooling. `lengths` is missing if the tokenizer and the model decide. Errors:
    `OddModel`, and a `UserError` for code of other libraries.
    """
    modules = read_json(folder / "modules.json")
    if is_multi_vector(folder):
        with explain_malformed(f"a JSON file of the model {folder}"):
            return _multi_vector(
                folder, modules or [], read_json(folder / LIBRARY_CONFIG_FILE) or {}
            )
    if not modules:
        return {}
    with explain_malformed(f"modules.json of {folder}, or a file that it names,"):
        named = _modules(folder, modules)
        kinds = [kind for kind, _ in named]
        pooled = kinds[0] != TABLE_MODULE
        first, later = [TABLE_MODULE], ["Normalize"]
        if pooled:
            first, later = ["Transformer", "Pooling"], ["Dense", "Normalize"]
        if kinds[: len(first)] != first:
            raise OddModel(folder, f"begins with {' and '.join(kinds[:2])}")
        if odd := [kind for kind in kinds[len(first) :] if kind not in later]:
            raise OddModel(folder, f"has a module {odd[0]:.80}")
        place, after = named[0][1], _without_last_normalize(named[len(first) :])
        metadata: Record = {"transformer": place, "normalize": kinds[-1] == "Normalize"}
        if after:
            metadata["head"] = after
        if pooled:
            metadata["pooling"] = _pooling(folder, read_json(named[1][1] / "config.json"))
            metadata |= _text_lengths(folder, place)
        return metadata | _prompts_and_similarity(
            folder, read_json(folder / LIBRARY_CONFIG_FILE) or {}
        )


def is_multi_vector(folder: Path) -> bool:
    """Return whether a model of another library gives a row per token."""
    with explain_malformed(f"a JSON file of the model {folder}"):
        about, config = (
            read_json(folder / name) or {} for name in (LIBRARY_CONFIG_FILE, "config.json")
        )
        kind, architectures = about.get("model_type"), config.get("architectures") or ()
        # PyLate keeps the type of the model that it began with
        return (
            kind == MULTI_VECTOR_TYPE or is_pylate(about) or STANFORD_ARCHITECTURE in architectures
        )


def is_pylate(about: Record) -> bool:
    """Return whether PyLate wrote a model's `config_sentence_transformers.json`."""
    kind = about.get("model_type")
    return kind == PYLATE_TYPE or kind != MULTI_VECTOR_TYPE and PYLATE_KEYS[0] in about


def no_text_embedding_error() -> UserError:
    """Return the error for a model that is asked for the embedding of a text, and has only rows."""
    problem = "the model gives an embedding per token, and none of a whole text"
    return UserError(problem, f"encode with {flag('rows', 'tokens')}, or use another model")


def _multi_vector(folder: Path, modules: Any, about: Record) -> Record:
    """Return the metadata of a model that gives a row per token. Errors: `OddModel`.

    Its `skipped` words have no row in documents. With `query_expansion` the mask token fills up
    queries, which read it with `attend`. `markers` are single tokens of prompts.
    """
    if about.get("similarity_fn_name") == "meanmaxsim":
        problem = f"the model {folder} scores by meanmaxsim, the mean over a query's rows"
        raise UserError(problem, "use a model that scores by maxsim, their sum")
    named = _modules(folder, modules)
    kinds = [kind for kind, _ in named]
    last = [] if is_pylate(about) else ["MultiVectorMask", "Normalize"]
    head = named[1 : len(named) - len(last)]
    if kinds[:1] != ["Transformer"] or {kind for kind, _ in head} - {"Dense"}:
        raise OddModel(folder, f"begins with {' and '.join(kinds[:2]) or 'a layer of ColBERT'}")
    if sorted(kinds[1 + len(head) :]) != last:
        raise OddModel(folder, f"ends with {' and '.join(kinds[-2:])}")
    place = named[0][1]
    said = _pylate_settings(folder, place, about, dict(named[-2:])) if last else about
    if absent := [key for key in PYLATE_KEYS if said.get(key) is None and not last]:
        raise OddModel(folder, f"does not say its {absent[0]}")
    prompts, markers = dict(said.get("prompts") or {}), []
    for side in ("query", "document"):
        if marker := said[f"{side}_prefix"]:  # before a prompt, which may begin with it
            prompts[side] = marker + (prompts.get(side) or "").removeprefix(marker)
            markers.append(marker)
    if not all(isinstance(word, str) for word in said["skiplist_words"]):
        raise TypeError(f"skiplist_words {said['skiplist_words']!r:.80}")
    limits = {key: said[key] for key in ("query_length", "document_length") if said.get(key)}
    metadata = _prompts_and_similarity(folder, about | {"model_type": None, "prompts": prompts})
    metadata |= _text_lengths(folder, place, {**limits, "query_expansion": None})
    if head:
        metadata["head"] = head
    return metadata | {
        "transformer": place,
        "part": "tokens",
        "similarity": "maxsim",
        "pooling": "mean",
        "normalize": True,
        "markers": markers,
        "skipped": said["skiplist_words"],
        "query_expansion": said["do_query_expansion"],
        "attend": said["do_query_expansion"] and said["attend_to_expansion_tokens"],
    }


def _pylate_settings(
    folder: Path, place: Path, about: Record, places: Mapping[str, Path]
) -> Record:
    """Return how a MultiVectorEncoder reads queries and documents, in PyLate's words."""
    mask, scale = (read_json(places[kind] / "config.json") or {} for kind in sorted(places))
    expansion = (read_json(place / TRANSFORMER_CONFIG_FILE) or {}).get("query_expansion") or {}
    ends = {scale.get("module_input_name"), scale.get("module_output_name", TOKEN_OUTPUT)}
    for name, is_odd in {
        **{key: about.get(key) for key in PYLATE_KEYS},
        "keep_only_token_ids": mask.get("keep_only_token_ids"),
        "skiplist_tasks": mask.get("skiplist_tasks") not in (None, ["document"]),
        "module_input_name": ends != {TOKEN_OUTPUT},
        "query_expansion": expansion.get("strategy", "fixed") != "fixed" or expansion.get("token"),
    }.items():
        if is_odd:
            raise OddModel(folder, f"sets {name}")
    return {
        **dict.fromkeys(("query_prefix", "document_prefix"), ""),
        "query_length": expansion.get("length"),
        "skiplist_words": mask.get("skiplist_words") or [],
        "do_query_expansion": bool(expansion),
        "attend_to_expansion_tokens": bool(expansion.get("attend")),
        "prompts": about.get("prompts"),
    }


@contextmanager
def explain_malformed(files: str) -> Iterator[None]:
    """Turn the errors of JSON files of another shape into one that names them."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UserError(f"{files} is malformed ({error!r:.200})", COPY_FOLDER_AGAIN) from None


def head_modules(folder: Path) -> list[tuple[str, Path]]:
    """Return the kinds and folders of the Dense and inner Normalize modules of our own folder."""
    modules = read_json(folder / "modules.json") or []
    with explain_malformed(f"modules.json of {folder}"):
        kinds = [(each["type"].rpartition(".")[2], folder / each["path"]) for each in modules]
    return _without_last_normalize([each for each in kinds if each[0] in ("Dense", "Normalize")])


def _without_last_normalize(modules: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Return modules without the last Normalize, which is a setting of its own."""
    while modules and modules[-1][0] == "Normalize":
        modules.pop()
    return modules


def _modules(folder: Path, modules: Any) -> list[tuple[str, Path]]:
    """Return the kinds and folders of the modules in `modules.json`."""
    return [
        (_module_type(folder, each["type"]), _module_folder(folder, each["path"]))
        for each in modules
    ]


def _module_type(folder: Path, type_: str) -> str:
    """Return the name of a module. Errors: one of another library."""
    home, _, kind = type_.rpartition(".")
    if not type_.startswith(LIBRARY_PREFIX) and type_ != PYLATE_DENSE:
        problem = (
            f"the model {folder} has a module {kind:.80} of {home:.80}, which structkit never runs"
        )
        raise UserError(problem, "use a model of transformers or sentence-transformers alone")
    return kind


def _module_folder(folder: Path, path: str) -> Path:
    """Return a folder that a model's file names. Errors: it is outside the model's."""
    place = folder / path
    if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder)):
        raise damage_error(
            f"names a folder outside the model's: {path!r:.80}", folder / "modules.json"
        )
    return place


def _pooling(folder: Path, said: Any) -> str:
    """Return our name for the pooling in 1_Pooling."""
    if not isinstance(said, dict):
        raise TypeError(f"the pooling {said!r:.80}")
    if not said.get("include_prompt", True):
        raise OddModel(folder, "leaves prompts out of its pooling")
    modes = said.get("pooling_mode")
    if modes is None:
        on = [key for key, is_on in said.items() if key.startswith("pooling_mode_") and is_on]
        modes = [POOLING_FLAGS.get(key, key) for key in on] or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    ours = {their: our for our, their in POOLING_NAMES.items()}
    if len(modes) != 1 or modes[0] not in ours:
        raise OddModel(folder, f"has the pooling {' and '.join(map(str, modes)) or 'none'}")
    return ours[modes[0]]


def _text_lengths(
    folder: Path, place: Path, changes: Mapping[str, Any] = MappingProxyType({})
) -> Record:
    """Return the lengths of texts for a Transformer, if it states some. Errors: `OddModel`."""
    said = read_json(place / TRANSFORMER_CONFIG_FILE) or {}
    if not isinstance(said, dict):
        raise TypeError(f"the settings {said!r:.80}")
    said |= changes
    odd = [
        file.name
        for file in place.glob("sentence_*_config.json")
        if file.name != TRANSFORMER_CONFIG_FILE
    ]
    odd += [
        f"{key} {said[key]}"
        for key in REQUIRED_SETTINGS
        if said.get(key, REQUIRED_SETTINGS[key]) != REQUIRED_SETTINGS[key]
    ]
    odd += [key for key in UNSUPPORTED_SETTINGS if said.get(key)]
    inputs = said.get("modality_config") or {"text": TEXT_INPUT}
    if "message" in inputs or inputs.get("text") != TEXT_INPUT:
        odd.append(f"modality_config {', '.join(inputs)}")  # texts go through a chat template
    for name in ARGUMENT_SETTINGS:
        odd += [f"{name} {key}" for key in sorted(set(said.get(name) or ()) - HARMLESS_ARGUMENTS)]
    if odd:
        raise OddModel(folder, f"sets {odd[0]:.200}")
    most = said.get("max_seq_length")
    lengths = {side: said.get(f"{side}_length") or most for side in ("query", "document")}
    lengths = {side: length for side, length in lengths.items() if length is not None}
    if not all(type(length) is int and length > 0 for length in lengths.values()):
        raise TypeError(f"lengths {lengths}")
    return {"lengths": lengths} if lengths else {}


def _prompts_and_similarity(folder: Path, about: Record) -> Record:
    """Return prompts and similarity of `config_sentence_transformers.json`."""
    if (kind := about.get("model_type") or "SentenceTransformer") != "SentenceTransformer":
        raise UserError(
            f"the model {folder} is a {kind}, which gives no embeddings of texts",
            "use a SentenceTransformer",
        )
    said = about.get("prompts") or {}
    default = said.get(about.get("default_prompt_name")) or ""
    sides = {  # a side's own, an empty one included, or the default
        side: next((said[name] for name in names if said.get(name) is not None), default)
        for side, names in PROMPT_NAMES.items()
    }
    metadata: Record = {
        "prompts": {side: prompt for side, prompt in sides.items() if prompt},
        "similarity": about.get("similarity_fn_name"),
    }
    if metadata["similarity"] not in SIMILARITIES:  # as sentence-transformers does
        metadata["similarity"] = "cosine"
    if about.get("truncate_dim") is not None:
        raise OddModel(folder, "cuts its embeddings (truncate_dim)")
    if not all(isinstance(prompt, str) for prompt in metadata["prompts"].values()):
        raise TypeError(f"prompts {metadata['prompts']}")
    return metadata
