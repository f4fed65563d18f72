"""The metadata of a model folder: structkit's own, or sentence-transformers'.

Common folders of sentence-transformers are read as that library reads them; for a rare one
`OddModel` is raised, and the library encodes with it. `modules.json` names the modules: a
Transformer, its Pooling, and later modules, Dense and Normalize. Source: sentence-transformers 6.2,
`base/modules` and `sentence_transformer/modules`.

Tests: tests/learning/test_sentence_folders.py.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
# types of models that give a row per token, of sentence-transformers 6 and of PyLate 1
MULTI_VECTOR_TYPE = "MultiVectorEncoder"
PYLATE_TYPE = "ColBERT"
STANFORD_ARCHITECTURE = "HF_ColBERT"
PYLATE_DENSE = "pylate.models.Dense.Dense"  # computed as the library's Dense
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
# settings of a Transformer that structkit follows with these values alone
USUAL_SETTINGS = {
    "transformer_task": "feature-extraction",
    "module_output_name": TOKEN_OUTPUT,
    "do_lower_case": False,
    "query_expansion": None,
}


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
        raise UserError(
            f"has format {metadata['format']}, but this structkit reads format {METADATA_FORMAT}",
            "upgrade structkit",
        ).at(str(file))
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
    modules = read_json(folder / "modules.json") or []
    with explain_malformed(f"modules.json of {folder}, or a file that it names,"):
        named = _modules(folder, modules)
        if is_multi_vector(folder):
            raise OddModel(folder, "gives an embedding per token")
        if not named:
            return {}
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
        return (
            about.get("model_type") in (MULTI_VECTOR_TYPE, PYLATE_TYPE)
            or "query_prefix" in about  # PyLate keeps the type of the model that it began with
            or STANFORD_ARCHITECTURE in (config.get("architectures") or ())
        )


def no_text_embedding_error() -> UserError:
    """Return the error for a model that is asked for the embedding of a text, and has only rows."""
    return UserError(
        "the model gives an embedding per token, and none of a whole text",
        f"encode with {flag('rows', 'tokens')}, or use another model",
    )


@contextmanager
def explain_malformed(files: str) -> Iterator[None]:
    """Turn the errors of JSON files of another shape into one that names them."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        raise UserError(f"{files} is malformed ({error!r:.200})", COPY_FOLDER_AGAIN) from None


def head_modules(folder: Path) -> list[tuple[str, Path]]:
    """Return the kinds and folders of the Dense and inner Normalize modules of our own folder."""
    modules = read_json(folder / "modules.json") or []
    with explain_malformed(f"modules.json of {folder}"):
        own = [each for each in modules if each["type"].endswith((".Dense", ".Normalize"))]
        return _without_last_normalize(_modules(folder, own))


def _without_last_normalize(modules: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Return modules without the last Normalize, which is a setting of its own."""
    while modules and modules[-1][0] == "Normalize":
        modules.pop()
    return modules


def _modules(folder: Path, modules: Any) -> list[tuple[str, Path]]:
    """Return the kinds and folders of the modules in `modules.json`.

    Errors: a module of another library, or outside the model's folder.
    """
    named = []
    for module in modules:
        home, _, kind = module["type"].rpartition(".")
        if not home.startswith(LIBRARY_PREFIX) and module["type"] != PYLATE_DENSE:
            problem = f"the model {folder} has a module {kind:.80} of {home:.80}, "
            raise UserError(
                f"{problem}which structkit never runs",
                "use a model of transformers or sentence-transformers alone",
            )
        place = folder / module["path"]
        if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder)):
            raise damage_error(
                f"names a folder outside the model's: {module['path']!r:.80}",
                folder / "modules.json",
            )
        named.append((kind, place))
    return named


def _pooling(folder: Path, config: Any) -> str:
    """Return our name for the pooling in 1_Pooling."""
    if not config.get("include_prompt", True):
        raise OddModel(folder, "leaves prompts out of its pooling")
    modes = config.get("pooling_mode")
    if modes is None:
        on = [key for key, is_on in config.items() if key.startswith("pooling_mode_") and is_on]
        modes = [POOLING_FLAGS.get(key, key) for key in on] or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    ours = {their: our for our, their in POOLING_NAMES.items()}
    if len(modes) != 1 or modes[0] not in ours:
        raise OddModel(folder, f"has the pooling {' and '.join(map(str, modes)) or 'none'}")
    return ours[modes[0]]


def _text_lengths(folder: Path, place: Path) -> Record:
    """Return the lengths of texts for a Transformer, if it states some. Errors: `OddModel`."""
    settings = read_json(place / TRANSFORMER_CONFIG_FILE) or {}
    odd = [
        file.name
        for file in place.glob("sentence_*_config.json")
        if file.name != TRANSFORMER_CONFIG_FILE
    ]
    for name, value in settings.items():
        if not value:
            continue
        if name.endswith(("_args", "_kwargs")):
            odd += [f"{name} {key}" for key in sorted(value.keys() - HARMLESS_ARGUMENTS)]
        elif name == "modality_config":
            if "message" in value or value.get("text") != TEXT_INPUT:
                odd.append(f"{name} {', '.join(value)}")  # texts go through a chat template
        elif value != USUAL_SETTINGS.get(name, value):
            odd.append(f"{name} {value}")
    if odd:
        raise OddModel(folder, f"sets {odd[0]:.200}")
    most = settings.get("max_seq_length")
    lengths = {side: settings.get(f"{side}_length") or most for side in ("query", "document")}
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
    prompts = about.get("prompts") or {}
    default = prompts.get(about.get("default_prompt_name")) or ""
    sides = {  # a side's own, an empty one included, or the default
        side: next((prompts[name] for name in names if prompts.get(name) is not None), default)
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
