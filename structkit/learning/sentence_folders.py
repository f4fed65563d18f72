"""Folders of sentence-transformers, read as that library reads them, or refused in one line.

`modules.json` names the modules: a Transformer, its Pooling, and what comes after, Dense and
Normalize. Source: sentence-transformers 6.2, `base/modules` and `sentence_transformer/modules`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from structkit.errors import UserError, flag, program
from structkit.learning.json_files import AGAIN, damaged, json_of

Facts = dict[str, Any]

TABLE = "StaticEmbedding"  # the module of token vectors and their mean
LIBRARY = "sentence_transformers."
OLD = f"{LIBRARY}models."  # where all versions find the modules
ABOUT = "config_sentence_transformers.json"
# our names of poolings, and theirs
POOLING_NAMES = {
    "cls": "cls",
    "max": "max",
    "mean": "mean",
    "mean-sqrt-length": "mean_sqrt_len_tokens",
    "weighted-mean": "weightedmean",
    "last-token": "lasttoken",
}
MCLS_EVERY = 256  # tokens after each CLS token, unless a model says otherwise
# how older folders name them, in the order in which they are concatenated
LEGACY = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# the settings of a Transformer: the first file that holds some counts
SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# what of their names counts as a prompt of a side; the first one present counts, also if empty
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
# settings of transformers that change how a model is computed, not what
HARMLESS = {"trust_remote_code", "torch_dtype", "dtype", "attn_implementation", "padding_side"}
HARMLESS |= {"model_max_length", "use_cache", "device_map", "low_cpu_mem_usage"}
TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}
# what a Transformer must be set to, if it is set
PLAIN = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
LOGITS = {"method_output_name": "logits"}
SCORES = {"transformer_task": "sequence-classification", "module_output_name": "scores"}
KEYWORDS = (
    *("model_args", "tokenizer_args", "config_args"),
    *("model_kwargs", "processor_kwargs", "config_kwargs"),
)


class Poolings(tuple[str, ...]):
    """Names of poolings; those of tokens may be joined by +.

    >>> "cls+max" in POOLINGS, "mcls" in POOLINGS, "cls+mcls" in POOLINGS
    (True, True, False)
    """

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        joined = isinstance(name, str) and POOLING_NAMES.keys() >= set(name.split("+"))
        return joined or super().__contains__(name)


POOLINGS = Poolings((*POOLING_NAMES, "first-decoder-token", "mcls"))


def sentence_facts(folder: Path, pooling: str | None) -> Facts:
    """Return what a folder says of itself; nothing if it has no `modules.json`.

    `transformer` is the folder of the model itself, `head` the kinds and folders of what comes
    after the pooling. `lengths` is missing where the tokenizer and the model decide. The pooling is
    ignored where another is given. Errors: `UserError` for what cannot be reproduced.
    """
    modules = json_of(folder / "modules.json")
    if not modules:
        return {}
    try:
        return _facts(folder, modules, pooling)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UserError(
            f"modules.json of {folder}, or a file that it names, is malformed ({error!r:.200})",
            AGAIN,
        ) from None


def _facts(folder: Path, modules: Any, pooling: str | None) -> Facts:
    named = [(_kind(folder, each["type"]), _inside(folder, each["path"])) for each in modules]
    kinds = [kind for kind, _ in named]
    pooled = kinds[0] != TABLE
    first = 2 if pooled else 1
    if kinds[:first] != (["Transformer", "Pooling"] if pooled else [TABLE]):
        raise _refused(folder, f"begins with {' and '.join(kinds[:2])}")
    if not pooled and "Dense" in kinds:
        raise _refused(folder, f"has Dense after {TABLE}")
    place, after = named[0][1], named[first:]
    facts: Facts = {"transformer": place, "normalize": kinds[-1] == "Normalize"}
    while after and after[-1][0] == "Normalize":
        after.pop()
    if after := [each for each in after if pooled]:
        facts["head"] = after
    if pooled:
        facts |= _pooling(folder, json_of(named[1][1] / "config.json"), pooling)
        facts |= _reading(folder, _settings(place))
    return facts | _about(folder)


def loads_there(folder: Path) -> bool:
    """Return whether sentence-transformers knows the modules of a folder that structkit wrote."""
    modules = json_of(folder / "modules.json") or []
    return bool(modules) and all(each["type"].startswith(LIBRARY) for each in modules)


def head_modules(folder: Path) -> list[tuple[str, Path]]:
    """Return the kinds and folders of the Dense and inner Normalize modules of our own folder."""
    modules = json_of(folder / "modules.json") or []
    kinds = [(each["type"].rpartition(".")[2], folder / each["path"]) for each in modules]
    after = [each for each in kinds if each[0] in ("Dense", "Normalize")]
    while after and after[-1][0] == "Normalize":
        after.pop()
    return after


def _kind(folder: Path, type_: str) -> str:
    """The name of a module; one of another library, or of a kind unknown here, raises."""
    home, _, kind = type_.rpartition(".")
    known = ("Transformer", "Pooling", "Dense", "Normalize", TABLE)
    if kind not in known or not type_.startswith(LIBRARY):
        of_other = "" if type_.startswith(LIBRARY) else f" of {home:.80}"
        raise _refused(folder, f"has a module {kind:.80}{of_other}")
    return kind


def _refused(folder: Path, problem: str) -> UserError:
    return UserError(
        f"the model {folder} {problem}, which structkit cannot compute",
        f"use a model of Transformer, Pooling, Dense and Normalize, or of {TABLE} and Normalize",
    )


def _inside(folder: Path, path: str) -> Path:
    """A folder that a file of a model names; one that is not in the model's own folder raises."""
    place = folder / path
    if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder)):
        raise damaged(f"names a folder outside the model's: {path!r:.80}", folder / "modules.json")
    return place


def _pooling(folder: Path, said: Any, other: str | None) -> Facts:
    """Our names for the poolings in 1_Pooling/config.json, and whether prompts take part."""
    if not isinstance(said, dict):
        raise TypeError(f"the pooling {said!r:.80}")
    whole = said.get("include_prompt", True)
    facts: Facts = {} if whole else {"include_prompt": False}
    if other:
        return facts
    modes = said.get("pooling_mode")
    if modes is None:
        old = (*LEGACY, *sorted(said.keys() - LEGACY.keys()))
        on = [key for key in old if key.startswith("pooling_mode_") and said.get(key)]
        modes = [LEGACY.get(key, key) for key in on] or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    ours = {their: our for our, their in POOLING_NAMES.items()}
    if not modes or not ours.keys() >= set(modes):
        raise UserError(
            f"the model {folder} has the pooling {' and '.join(map(str, modes)) or 'none'}",
            f"choose {', '.join(POOLING_NAMES)} with {flag('pooling')}",
        )
    return facts | {"pooling": "+".join(ours[mode] for mode in modes)}


def _settings(place: Path) -> Facts:
    """The settings of a Transformer: of the first of several files that holds some."""
    every = (json_of(place / name) for name in SETTINGS)
    said: Any = next(filter(None, every), {})
    if not isinstance(said, dict):
        raise TypeError(f"the settings {said!r:.80}")
    return said


def cross_encoder_facts(folder: Path, *, encoder: bool = False) -> Facts:
    """Return what the folder of a cross-encoder says of itself, or of an encoder that becomes one.

    `transformer` is the folder of the model itself, `activation` the name of what makes a score of
    its output, `lengths` and `lower_case` how it reads texts. Errors: `UserError` for what cannot
    be reproduced.
    """
    try:
        return _cross_encoder_facts(folder, encoder)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        problem = f"a JSON file of the cross-encoder {folder} is malformed ({error!r:.200})"
        raise UserError(problem, AGAIN) from None


def _cross_encoder_facts(folder: Path, encoder: bool) -> Facts:
    modules = json_of(folder / "modules.json") or [{"type": f"{OLD}Transformer", "path": ""}]
    named = [(_kind(folder, each["type"]), _inside(folder, each["path"])) for each in modules]
    kinds = [kind for kind, _ in named]
    if kinds[: 1 if encoder else None] != ["Transformer"]:
        raise UserError(
            f"the model {folder} is not a Transformer alone, so that it is no cross-encoder that "
            "structkit can compute",
            f"name a folder of {program('train')} cross-encoder, or of a CrossEncoder",
        )
    place = named[0][1]
    config, about = json_of(place / "config.json") or {}, json_of(folder / ABOUT) or {}
    prompt = (about.get("prompts") or {}).get(about.get("default_prompt_name"))
    if prompt and not encoder:
        problem = f"the cross-encoder {folder} has the prompt {prompt!r:.80}"
        raise UserError(problem, "use a cross-encoder without a default prompt")
    before = config.get("sbert_ce_default_activation_function")
    own = (config.get("sentence_transformers") or {}).get("activation_fn", before)
    facts = {"transformer": place, "activation": about.get("activation_fn") or own}
    said = _settings(place)
    embeds = said.get("transformer_task", "") == PLAIN["transformer_task"]
    usual = (PLAIN, TEXT) if encoder and embeds else (SCORES, TEXT | LOGITS)
    return facts | _reading(folder, said, *usual)


def _reading(
    folder: Path, said: Facts, usual: Mapping[str, str] = PLAIN, text: Facts = TEXT
) -> Facts:
    """The lengths and the case of texts. Errors: settings that structkit does not follow."""
    strange = [f"{key} {said[key]}" for key in usual if said.get(key, usual[key]) != usual[key]]
    strange += [key for key in ("query_expansion", "processing_kwargs") if said.get(key)]
    inputs = said.get("modality_config") or {"text": text}
    if "message" in inputs or inputs.get("text") != text:
        strange.append(f"modality_config {', '.join(inputs)}")  # texts go through a chat template
    for name in KEYWORDS:
        strange += [f"{name} {key}" for key in sorted(set(said.get(name) or ()) - HARMLESS)]
    if strange:
        problem = f"the model {folder} sets {strange[0]:.200}, which structkit does not follow"
        raise UserError(problem, "encode with sentence-transformers: search reads its embeddings")
    facts: Facts = {"lower_case": True} if said.get("do_lower_case") else {}
    most = said.get("max_seq_length")
    for name in ("tokenizer_args", "processor_kwargs"):
        most = (said.get(name) or {}).get("model_max_length", most)
    lengths = {side: said.get(f"{side}_length") or most for side in ("query", "document")}
    lengths = {side: length for side, length in lengths.items() if length is not None}
    if not all(type(length) is int and length > 0 for length in lengths.values()):
        raise TypeError(f"lengths {lengths}")
    return facts | ({"lengths": lengths} if lengths else {})


def _about(folder: Path) -> Facts:
    """Prompts, similarity and dimensions of `config_sentence_transformers.json`."""
    about = json_of(folder / ABOUT) or {}
    if (kind := about.get("model_type") or "SentenceTransformer") != "SentenceTransformer":
        raise UserError(
            f"the model {folder} is a {kind}, which gives no embeddings of texts",
            "use a SentenceTransformer",
        )
    said = about.get("prompts") or {}
    default = said.get(about.get("default_prompt_name")) or ""
    sides = {side: _first(said, names, default) for side, names in PROMPTS.items()}
    facts: Facts = {
        "prompts": {side: prompt for side, prompt in sides.items() if prompt},
        "similarity": about.get("similarity_fn_name"),
        "dimensions": about.get("truncate_dim"),
    }
    if facts["similarity"] not in SIMILARITIES:  # as sentence-transformers does
        facts["similarity"] = "cosine"
    most = facts["dimensions"]
    if not (most is None or type(most) is int and most > 0):
        raise TypeError(f"truncate_dim {most}")
    if not all(isinstance(prompt, str) for prompt in facts["prompts"].values()):
        raise TypeError(f"prompts {facts['prompts']}")
    return {name: value for name, value in facts.items() if value is not None}


def _first(prompts: Facts, names: Iterable[str], default: str) -> str:
    """The prompt of a side: its own, an empty one included, or the default."""
    own = (prompts[name] for name in names if prompts.get(name) is not None)
    return next(own, default)
