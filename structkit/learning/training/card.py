"""The card of a trained model: the README.md of its folder, as Hugging Face Hub reads it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from huggingface_hub import ModelCardData

from structkit import __version__
from structkit.learning.folders.facts import json_of
from structkit.learning.folders.hub import looks_like_path
from structkit.learning.training.settings import Method
from structkit.records.jsonl import Record
from structkit.records.table import markdown_text
from structkit.settings import flag_of

CARD = "README.md"


def write_card(
    folder: Path,
    method: Method,
    summary: Record,
    *,
    title: str,
    files: Sequence[str] = (),
) -> None:
    """Write the card: a model's size, start, training data, settings, license, and how to use it.

    `summary` is the summary of the training, with the hash of its records.
    """
    loads = _loads(folder)
    about = ModelCardData(
        library_name="sentence-transformers" if loads else "structkit",
        base_model=method.start if _on_hub(method.start) else None,
        tags=["structkit", summary["method"]],
    )
    rows = {
        "method": f"`{summary['method']}`",
        "start": _code(Path(method.start).name) if method.start else "from scratch",
        "parameters": f"{summary['parameters']:,}",
        "size": f"{_size(folder) / 1e6:,.1f} MB",
        "training records": f"{summary['records']:,}, from {_names(files)}",
        "sha256 of the records": f"`{summary['sha256']}`",
        "steps": f"{summary['steps']:,}",
        "license": "not stated: see those of the start model and the training data",
    }
    table = [f"| {name} | {value} |" for name, value in rows.items()]
    parts = [
        f"---\n{about.to_yaml()}\n---",
        f"# {markdown_text(title)}",
        f"Trained by structkit {__version__}.",
        "\n".join(["| | |", "|---|---|", *table]),
        "## Settings",
        f"```\nstructkit train {summary['method']} {_flags(method)}\n```".replace(" \n", "\n"),
        "## Use",
        "\n\n".join(_uses(summary["method"], title, loads)),
    ]
    (folder / CARD).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _loads(folder: Path) -> bool:
    """Whether sentence-transformers has all modules of the model."""
    modules = json_of(folder / "modules.json") or []
    return bool(modules) and all(
        module["type"].startswith("sentence_transformers.") for module in modules
    )


def _on_hub(start: str | None) -> bool:
    return start is not None and "/" in start and not looks_like_path(start)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _names(files: Sequence[str]) -> str:
    return ", ".join(_code(Path(file).name) if file != "-" else "stdin" for file in files or ["-"])


def _code(name: str) -> str:
    """A name as code, where nothing in it ends the code or the cell."""
    plain = " ".join(name.split()) == name and not {"`", "|"} & {*name}
    return f"`{name}`" if plain else markdown_text(name)


def _flags(method: Method) -> str:
    """The flags that differ from the method's defaults; local paths as file names only."""
    changed = {
        each.name: value
        for each in fields(method)
        if (value := getattr(method, each.name)) not in (None, each.default)
    }
    return " ".join(_flag(name, value) for name, value in changed.items())


def _flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return flag_of(name if value else f"no_{name}")
    text = Path(value).name if isinstance(value, str) and Path(value).is_absolute() else str(value)
    return f"{flag_of(name)} {shlex.quote(text)}"


def _uses(method: str, title: str, loads: bool) -> Iterable[str]:
    verb = "parse-trees" if method == "span-parser" else "encode"
    yield f"```\nstructkit {verb} texts.jsonl -m {shlex.quote(title)} -o out.jsonl\n```"
    if loads:
        yield (
            "```python\nfrom sentence_transformers import SentenceTransformer\n\n"
            f'embeddings = SentenceTransformer("{title}").encode(["a text"])\n```'
        )
