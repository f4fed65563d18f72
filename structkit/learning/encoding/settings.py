"""Settings of the model, of the texts that it reads, and of the parts that get an embedding.

Tests: tests/commands/test_encode.py.
"""

from __future__ import annotations

from typing import Any, Literal

from structkit.errors import flag, wrong_usage
from structkit.extras import BUILTIN
from structkit.paths import data_folder
from structkit.records.jsonl import Record
from structkit.settings import offline_setting, setting, settings_class

PARTS_GROUP = "Parts of a text"
EMBEDDINGS_GROUP = "Embeddings"
NODE_ROWS = ("words", "phrases", "nodes")  # rows of trees
# the fields of a part
PART_FIELDS: dict[str, tuple[str, ...]] = {
    "": (),
    "chunk": ("start", "end", "lines"),
    "tokens": (),  # they are many
    "elements": ("xpath", "start", "end", "text"),
    **dict.fromkeys(NODE_ROWS, ("node", "span", "text")),
}
OPENING_SETTINGS = (
    "pooling",
    "normalize",
    "dimensions",
    "dtype",
    "engine",
)  # how a model is opened
USER_MODEL_FOLDER = "ask-model"  # in the folder of the user's data
EngineName = Literal["auto", "torch", "onnx", "openvino"]


def usual_model() -> str:
    """Return the user's own model for `ask`, otherwise the built-in one."""
    own = data_folder(USER_MODEL_FOLDER)
    return str(own) if own.exists() else BUILTIN


def engine_setting() -> Any:
    """Declare the inference engine."""
    return setting(
        "auto",
        "Inference engine: torch, or for encoders an extra: onnx, openvino; auto: one "
        "of these two that is installed and gives the same result, otherwise torch.",
        group="speed",
    )


class Opened(str):
    """Name of a model that is open already, with its engine and the settings of its opening."""

    opened: tuple[Any, Record]
    settings: EncodingSettings


@settings_class
class EncodingSettings:
    """Settings of a model, of the texts that it reads, and of the parts that get an embedding.

    `as_` chooses the length, the prompt and the default field. `quantize` is the form of embeddings
    in .npy files.
    """

    model: str = setting(
        ...,
        "Model folder, Hub name, builtin (bundled token vectors), or minilm (an extra).",
        short="-m",
        reads=True,
    )
    as_: Literal["query", "document"] = setting(
        "document", "Encode the texts as queries or as documents."
    )
    field: tuple[str, ...] = setting(
        (), "Field with the text; several give FIELD_embedding each.", inferred="as the model reads"
    )
    keep: tuple[str, ...] = setting((), "Field to copy to the output; may be repeated.")
    length: int | None = setting(
        None, "Maximum tokens of a text.", low=1, inferred="as in training"
    )
    chunk: int | None = setting(
        None,
        "Write an embedding for each N tokens of a text.",
        low=1,
        metavar="N",
        excludes="rows",
        group=PARTS_GROUP,
    )
    rows: Literal["tokens", "elements", "words", "phrases", "nodes"] | None = setting(
        None,
        "Write an embedding for each token, element of HTML, or word, phrase or node of a tree.",
        inferred="tokens for a multi-vector model",
        group=PARTS_GROUP,
    )
    pool_factor: float | None = setting(
        None,
        "Keep one row in N for the tokens of a document: the means of similar ones.",
        low=1.0,
        metavar="N",
        group=PARTS_GROUP,
    )
    pooling: str | None = setting(
        None, "Pooling to use instead of the one in training.", group=EMBEDDINGS_GROUP
    )
    normalize: bool | None = setting(
        None, "Scale embeddings to length 1.", group=EMBEDDINGS_GROUP, inferred="as the model does"
    )
    dimensions: int | None = setting(
        None,
        "Keep the first N numbers (Matryoshka models), scaled again if the model scales.",
        low=1,
        metavar="N",
        group=EMBEDDINGS_GROUP,
    )
    dtype: Literal["fp32", "bf16"] = setting(
        "fp32", "Precision of the computation.", group=EMBEDDINGS_GROUP
    )
    quantize: Literal["fp16", "int8", "binary"] | None = setting(
        None,
        "Store numbers of 16 bits, of 8 with a scale per row, or signs of 1 bit (NAME.npy only).",
        group=EMBEDDINGS_GROUP,
    )
    engine: EngineName = engine_setting()
    offline: bool = offline_setting()
    reuse: str | None = setting(
        None,
        "Copy the embeddings of unchanged texts from this file, which may be the output.",
        metavar="OLD.npy",
        group="run",
    )

    @property
    def part(self) -> str:
        """Part that gets an embedding: `chunk`, a kind of `rows`, or empty: the whole."""
        return "chunk" if self.chunk else self.rows or ""

    @property
    def changes(self) -> Record:
        """Overrides of the model's own settings."""
        overrides = {"pooling": self.pooling, "normalize": self.normalize}
        return {name: value for name, value in overrides.items() if value is not None}

    def __post_init__(self) -> None:
        part, several = self.part, len(self.field) > 1
        written = {"embedding", *PART_FIELDS[part]}
        if part:
            written.add("doc_id")
        if own := written.intersection(self.keep):
            raise wrong_usage(
                f"{flag('keep', min(own))}: a field of that name is written for every text",
                "rename the field",
            )
        if several and (part or self.reuse):
            other = flag("rows" if self.rows else part or "reuse")
            raise wrong_usage(f"{other} takes one {flag('field')}", "encode each by itself")
        if self.chunk and self.length and self.chunk > self.length:
            raise wrong_usage(
                f"{flag('chunk', self.chunk)} is more than {flag('length', self.length)}",
                "use smaller chunks",
            )
