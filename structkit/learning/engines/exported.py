"""Where exported encoders are kept: folders of the user's cache, by model and runtime."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

import structkit
from structkit.learning.engines.runtime import Runtime
from structkit.records.jsonl import Record
from structkit.records.whole import whole_folder
from structkit.user import cache_folder

FORMAT = 3  # of the notes on an export
ABOUT = "about.json"
TOKENIZER, PLAIN = "tokenizer.json", "plain-tokenizer.json"


def kept(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> tuple[Path, Record] | None:
    """The export of a model folder with these changes for a runtime, and the notes on it.

    None where there is none, or where the model has changed since.
    """
    place = _place(model, changes, runtime)
    try:
        about: Record = orjson.loads((place / ABOUT).read_bytes())
        signature = _signature(model)
    except (OSError, ValueError):
        return None
    return (place, about) if about.get("signature") == signature else None


@contextmanager
def keeping(
    model: Path, changes: Mapping[str, Any], runtime: Runtime
) -> Iterator[tuple[Path, Record]]:
    """A folder for an export, and the notes on it; it takes its place when it is complete.

    Exports of models that no longer exist are removed.
    """
    place = _place(model, changes, runtime)
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place.parent)
    with whole_folder(place) as new:
        about: Record = {"model": str(model.resolve()), "signature": _signature(model)}
        yield new, about
        (new / ABOUT).write_bytes(orjson.dumps(about))


def _place(model: Path, changes: Mapping[str, Any], runtime: Runtime) -> Path:
    named = f"{model.resolve()} {sorted(changes.items())} {runtime.name} {runtime.dtype}"
    return (
        cache_folder("engines")
        / hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )


def _signature(model: Path) -> str:
    """A hash that changes with any file of a model folder, and with the version of structkit.

    The files are not read: the inode number and the times of a file tell that it was written.
    """
    digest = hashlib.sha256(f"{structkit.__version__} {FORMAT}".encode())
    for file in sorted(file for file in model.rglob("*") if file.is_file()):
        is_ = file.stat()
        facts = (file.relative_to(model), is_.st_ino, is_.st_size, is_.st_mtime_ns, is_.st_ctime_ns)
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sweep(cache: Path) -> None:
    for about in cache.glob(f"*/{ABOUT}"):
        try:
            gone = not Path(orjson.loads(about.read_bytes())["model"]).is_dir()
        except (OSError, ValueError, LookupError, TypeError):
            gone = True
        if gone:
            shutil.rmtree(about.parent, ignore_errors=True)
