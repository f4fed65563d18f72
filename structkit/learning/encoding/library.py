"""Models of rare kinds, which the package sentence-transformers computes.

Tests: tests/learning/test_sentence_folders.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.encoders.pretrained import check_model_folder, explain_damage
from structkit.learning.encoding.settings import EncodingSettings
from structkit.learning.metadata import (
    OddModel,
    is_multi_vector,
    no_text_embedding_error,
    plain_metadata,
)
from structkit.learning.model import Engine, Model
from structkit.learning.tokens import Truncation
from structkit.progress import say
from structkit.records.jsonl import Record


@dataclass(frozen=True)
class LibraryText:
    """A text and its side: query or document."""

    text: str
    side: str

    def __len__(self) -> int:
        return len(self.text)


class LibraryModel(Model):
    """A model whose texts the library tokenizes; it does not say which it cuts."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self.truncation, self.parts = Truncation(), parts  # type: ignore[misc]

    def inputs(self, texts: Sequence[str], side: str) -> list[LibraryText]:
        return [LibraryText(text, side) for text in texts]


class LibraryEngine(Engine):
    """The library itself, which also makes batches, pads, cuts and scales as the folder says."""

    name = "sentence-transformers"

    def __init__(self, library: SentenceTransformer | MultiVectorEncoder) -> None:
        self.rows = isinstance(library, MultiVectorEncoder)
        self.library = library
        self.model: LibraryModel = LibraryModel(("tokens",) if self.rows else ())

    def embeddings(self, inputs: Sequence[LibraryText]) -> Vectors:
        """Return the embeddings of texts of one side, (inputs, dim)."""
        if self.rows:
            raise no_text_embedding_error()
        return np.array(self.token_rows(inputs, inputs[0].side))

    def token_rows(self, inputs: Sequence[LibraryText], side: str) -> list[Vectors]:
        """Return the rows of the tokens of each text, (rows, dim) each; one of 0 for none."""
        encode = getattr(self.library, f"encode_{side}")
        texts = [each.text for each in inputs]
        encoded = encode(texts, show_progress_bar=False, convert_to_numpy=True)
        return [each if len(each) else np.zeros((1, each.shape[1]), np.float32) for each in encoded]


def open_library(
    settings: EncodingSettings, folder: Path, device: str | None, odd: OddModel
) -> tuple[LibraryEngine, Record]:
    """Open a model that structkit does not compute itself, and return it with its metadata.

    Errors: `UserError` for a setting that the library does not have, and for a damaged folder.
    """
    for name, given in (
        ("pooling", settings.pooling),
        ("normalize", settings.normalize is False),
        ("engine", settings.engine in ("onnx", "openvino")),
    ):
        if given:
            raise wrong_usage(odd.problem, f"leave {flag(name)} out")
    say(f"{odd.problem}: sentence-transformers does, in float32, and counts no texts that it cuts")
    check_model_folder(folder)
    kind: Any = MultiVectorEncoder if is_multi_vector(folder) else SentenceTransformer
    with explain_damage(folder):
        library = kind(
            str(folder),
            device=device,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    if library.similarity_fn_name == "meanmaxsim":
        raise UserError(
            f"the model {folder} scores by meanmaxsim, the mean over a query's rows",
            "use a model that scores by maxsim, their sum",
        )
    engine = LibraryEngine(library)
    try:
        engine.token_rows(engine.model.inputs(["a"], "query"), "query")
    except Exception as error:  # of any of its modules
        raise UserError(
            f"sentence-transformers cannot encode with the model {folder}: {error!r:.200}",
            "use another model, or another version of that package",
        ) from None
    return engine, plain_metadata("") | {
        **({"part": "tokens"} if engine.rows else {}),
        "normalize": isinstance(library[-1], Normalize),
        "similarity": library.similarity_fn_name,
        "folder": folder,
    }
