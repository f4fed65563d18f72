"""What every training method lets the user choose, and how a run is carried out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from structkit.errors import UserError
from structkit.plugin import setting

POOLINGS = ("cls", "mean", "last-token", "first-decoder-token", "mcls")
NUMBER = tuple[float, float]
# lowest and highest value; every method's settings of these names are checked
RANGES: dict[str, NUMBER] = {
    "epochs": (1, 1e6),
    "batch_size": (1, 1e6),
    "learning_rate": (0, 1),
    "warmup": (0, 1),
    "weight_decay": (0, 1),
    "max_grad_norm": (0, float("inf")),
    "max_steps": (0, 1e12),
    "vocabulary_size": (400, 1e6),
    "query_length": (2, 1e6),
    "document_length": (2, 1e6),
    "target_length": (2, 1e6),
    "mcls_every": (1, 1e6),
    "temperature": (1e-6, 1e6),
    "negatives_per_query": (0, 1e4),
    "chunk_size": (0, 1e6),
    "mask_ratio": (0, 1),
    "alignment_weight": (0, float("inf")),
    "entity_weight": (0, float("inf")),
    "embedding_size": (1, 1e5),
    "channels": (1, 1e5),
    "minimum_count": (1, 1e9),
    "max_length": (1, 1e9),
    "batch_tokens": (1, 1e9),
    "init_range": (0, 1e3),
    "embedding_dropout": (0, 0.99),
    "composition_dropout": (0, 0.99),
}
# settings of a Hugging Face model: they mean nothing to a model of another kind
OF_ENCODERS = (
    *("model", "architecture", "size", "split_identifiers", "tag_tokens", "pooling", "normalize"),
    *("mcls_every", "query_prompt", "document_prompt", "query_length", "document_length"),
    *("symmetric", "negatives_per_query", "bf16"),
)


@dataclass(frozen=True)
class TrainingSettings:
    """The settings that all methods share; a method's class adds its own and overrides defaults.

    Errors: a value out of its range or choices is a `UserError` with status 2 that names the flag.
    """

    # the fields a training record must have, as strings, and those it may have
    needs: ClassVar[tuple[str, ...]] = ("query", "positive")
    optional: ClassVar[tuple[str, ...]] = ("negatives",)
    # whether several processes can share a batch
    shared: ClassVar[bool] = False
    # settings that mean nothing to a method: it has no flags for them
    unused: ClassVar[tuple[str, ...]] = ()
    # where `encode` finds the text of either side, first match
    query_fields: ClassVar[tuple[str, ...]] = ("query", "text", "docstring")
    document_fields: ClassVar[tuple[str, ...]] = ("positive", "code", "text")

    model: str | None = setting(
        None,
        "start from this model: a local folder, a hub name, or minilm (an extra); without it, "
        "from scratch",
    )
    architecture: str = setting("t5", "kind of a model from scratch", choices=("t5", "bert"))
    size: str = setting(
        "mini", "size of a model from scratch", choices=("tiny", "mini", "wide", "small")
    )
    vocabulary_size: int = setting(8000, "tokens of a tokenizer trained on the records")
    split_identifiers: bool = setting(
        True, "a trained tokenizer lowercases, and splits fooBar and foo_bar"
    )
    tag_tokens: bool | None = setting(
        None, "each tag of a document's structure is one token; default: in seal from scratch"
    )
    pooling: str | None = setting(
        None, "how states become one embedding; default: the model's own, else mean", "", POOLINGS
    )
    mcls_every: int = setting(256, "mcls: a CLS token goes before so many tokens", "SEAL, MCLS")
    normalize: bool | None = setting(
        None, "scale embeddings to length 1; default: as the model does, else yes"
    )
    query_prompt: str | None = setting(
        None, "goes before each query; default: the model's own, else none"
    )
    document_prompt: str | None = setting(
        None, "goes before each document; default: the model's own, else none"
    )
    query_length: int = setting(64, "most tokens of a query")
    document_length: int = setting(256, "most tokens of a document")
    temperature: float = setting(0.05, "divides the scores of the contrastive loss")
    symmetric: bool = setting(False, "add the loss from documents to queries")
    negatives_per_query: int | None = setting(
        None, "negatives drawn anew in each epoch; default 1 where records have negatives"
    )
    epochs: int = setting(1, "passes over the records")
    batch_size: int = setting(32, "records in one step")
    learning_rate: float = setting(5e-5, "highest learning rate of AdamW")
    warmup: float = setting(0.1, "share of the steps in which the learning rate grows")
    schedule: str = setting(
        "linear", "the learning rate after the warm-up", choices=("linear", "constant")
    )
    weight_decay: float = setting(0.0, "weight decay of AdamW")
    max_grad_norm: float = setting(1.0, "longer gradients are scaled down to it; 0: never")
    max_steps: int | None = setting(None, "stop after so many steps; 0 writes the untrained model")
    seed: int = setting(0, "seed of parameters, order, dropout and draws")
    bf16: bool = setting(False, "compute in bfloat16 where that is safe")
    chunk_size: int = setting(
        0,
        "texts in memory at a time: a batch may be of any size, and is computed twice; 0: all",
        "gradient caching, arXiv 2101.06983",
    )
    gradient_checkpointing: bool = setting(
        False, "less memory: what happens inside a layer is computed again for the gradients"
    )

    def __post_init__(self) -> None:
        for field in fields(self):
            value, flag = getattr(self, field.name), flag_of(field.name)
            choices = field.metadata.get("choices")
            if choices and value is not None and value not in choices:
                raise UserError(f"{flag} {value} is not {' or '.join(choices)}", status=2)
            if field.name in RANGES and value is not None:
                low, high = RANGES[field.name]
                if not low <= value <= high:  # not a number is in no range
                    raise UserError(f"{flag} {value:g} is not in {low:g} … {high:g}", status=2)

    @property
    def passes(self) -> tuple[str, ...]:
        """The stages of a training, in order, each with all its epochs and its own warm-up."""
        return ("train",)

    def values(self) -> dict[str, Any]:
        """All settings, as they are written to `structkit.json`."""
        return {name: value for name, value in asdict(self).items() if name not in self.unused}


def flag_of(name: str) -> str:
    """The flag of a setting.

    >>> flag_of("max_steps")
    '--max-steps'
    """
    return "--" + name.replace("_", "-")


@dataclass(frozen=True)
class RunOptions:
    """How a training runs: nothing here changes the model that comes out."""

    output: str | None = setting(None, "model folder that is written (default models/METHOD)")
    overwrite: bool = setting(False, "replace the model folder, and forget a stopped run")
    resume: bool = setting(False, "go on with a stopped run")
    save_every: int = setting(0, "steps between checkpoints; 0: only when stopped")
    log_every: int = setting(10, "steps between log lines")
    log_format: str = setting("text", "json: one line a log step on stderr", "", ("text", "json"))
    on_error: str = setting("fail", "what a bad record does", "", ("fail", "skip"))
    rejects: str | None = setting(None, "file for skipped records, with the reason")
    nproc: int = setting(
        1, "processes, or GPUs, that share each batch: the result is that of one, only sooner"
    )
    offline: bool = setting(False, "never use the network")
    device: str | None = setting(None, "cpu, cuda, cuda:1 … (default: cuda where there is one)")
    quiet: bool = setting(False, "nothing on stderr but errors")

    def __post_init__(self) -> None:
        for name, low in (("save_every", 0), ("log_every", 1), ("nproc", 1)):
            if getattr(self, name) < low:
                raise UserError(f"{flag_of(name)} must be at least {low}", status=2)
