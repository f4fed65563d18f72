"""What every training method lets the user choose, and how a run is carried out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self, get_args, get_type_hints

from structkit.errors import UserError
from structkit.plugin import check, setting
from structkit.records.texts import DOCUMENT, QUERY

AGAIN = "copy the model folder again"  # the remedy for one that is damaged
POOLINGS = ("cls", "mean", "last-token", "first-decoder-token", "mcls")
LENGTH = 1_000_000  # tokens of any text
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
    # settings without which a model folder cannot be read; others may come and go
    made_of: ClassVar[tuple[str, ...]] = ()
    # where `encode` finds the text of either side, first match
    query_fields: ClassVar[tuple[str, ...]] = QUERY
    document_fields: ClassVar[tuple[str, ...]] = DOCUMENT

    model: str | None = setting(
        None,
        "start from this model: a local folder, a hub name, or minilm (an extra); without it, "
        "from scratch",
    )
    architecture: str = setting("t5", "kind of a model from scratch", choices=("t5", "bert"))
    size: str = setting(
        "mini", "size of a model from scratch", choices=("tiny", "mini", "wide", "small")
    )
    vocabulary_size: int = setting(
        8000, "tokens of a tokenizer trained on the records", low=400, high=1_000_000
    )
    split_identifiers: bool = setting(
        True, "a trained tokenizer lowercases, and splits fooBar and foo_bar"
    )
    tag_tokens: bool | None = setting(
        None, "each tag of a document's structure is one token; default: in seal from scratch"
    )
    pooling: str | None = setting(
        None, "how states become one embedding; default: the model's own, else mean", "", POOLINGS
    )
    mcls_every: int = setting(
        256, "mcls: a CLS token goes before so many tokens", "SEAL, MCLS", low=1, high=LENGTH
    )
    normalize: bool | None = setting(
        None, "scale embeddings to length 1; default: as the model does, else yes"
    )
    query_prompt: str | None = setting(
        None, "goes before each query; default: the model's own, else none"
    )
    document_prompt: str | None = setting(
        None, "goes before each document; default: the model's own, else none"
    )
    query_length: int = setting(64, "most tokens of a query", low=2, high=LENGTH)
    document_length: int = setting(256, "most tokens of a document", low=2, high=LENGTH)
    temperature: float = setting(
        0.05, "divides the scores of the contrastive loss", low=1e-6, high=1e6
    )
    symmetric: bool = setting(False, "add the loss from documents to queries")
    negatives_per_query: int | None = setting(
        None,
        "negatives drawn anew in each epoch; default 1 where records have negatives",
        low=0,
        high=10_000,
    )
    epochs: int = setting(1, "passes over the records", low=1, high=1_000_000)
    batch_size: int = setting(32, "records in one step", low=1, high=1_000_000)
    learning_rate: float = setting(5e-5, "highest learning rate of AdamW", low=0.0, high=1.0)
    warmup: float = setting(
        0.1, "share of the steps in which the learning rate grows", low=0.0, high=1.0
    )
    schedule: str = setting(
        "linear", "the learning rate after the warm-up", choices=("linear", "constant")
    )
    weight_decay: float = setting(0.0, "weight decay of AdamW", low=0.0, high=1.0)
    max_grad_norm: float = setting(
        1.0, "longer gradients are scaled down to it; 0: never", low=0.0, high=1e6
    )
    max_steps: int | None = setting(
        None, "stop after so many steps; 0 writes the untrained model", low=0, high=10**12
    )
    seed: int = setting(
        0, "seed of parameters, order, dropout and draws", low=-(2**63), high=2**63 - 1
    )
    bf16: bool = setting(False, "compute in bfloat16 where that is safe")
    chunk_size: int = setting(
        0,
        "texts in memory at a time: a batch may be of any size, and is computed twice; 0: all",
        "gradient caching, arXiv 2101.06983",
        low=0,
        high=1_000_000,
    )
    gradient_checkpointing: bool = setting(
        False, "less memory: what happens inside a layer is computed again for the gradients"
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def passes(self) -> tuple[str, ...]:
        """The stages of a training, in order, each with all its epochs and its own warm-up."""
        return ("train",)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The settings that a model folder tells; what it need not tell is by default.

        Errors: `UserError` for one that is missing, of another type or out of its bounds.
        """
        hints, known = get_type_hints(cls), {field.name for field in fields(cls)}
        if missing := sorted(set(cls.made_of) - set(cls.unused) - values.keys()):
            raise UserError(f"the setting {missing[0]} is missing", AGAIN)
        kept = {name: value for name, value in values.items() if name in known}
        for name, value in kept.items():
            kinds = get_args(hints[name]) or (hints[name],)
            if type(value) not in ((*kinds, int) if float in kinds else kinds):
                raise UserError(f"the setting {name} is of another type: {value!r}", AGAIN)
        return cls(**kept)

    def values(self) -> dict[str, Any]:
        """All settings, as they are written to `structkit.json`."""
        return {name: value for name, value in asdict(self).items() if name not in self.unused}


def check_decoder(settings: TrainingSettings) -> None:
    """Raise where the pooling needs the decoder that a model from scratch does not have."""
    decoder = settings.pooling == "first-decoder-token"
    if settings.architecture == "bert" and decoder and settings.model is None:
        raise UserError("a bert has no decoder", "use --architecture t5", status=2)


@dataclass(frozen=True)
class RunOptions:
    """How a training runs: nothing here changes the model that comes out."""

    output: str | None = setting(None, "model folder that is written (default models/METHOD)")
    overwrite: bool = setting(False, "replace the model folder, and forget a stopped run")
    resume: bool = setting(False, "go on with a stopped run")
    save_every: int = setting(
        0, "steps between checkpoints; 0: only when stopped", low=0, high=10**12
    )
    log_every: int = setting(10, "steps between log lines", low=1, high=10**12)
    log_format: str = setting("text", "json: one line a log step on stderr", "", ("text", "json"))
    on_error: str = setting("fail", "what a bad record does", "", ("fail", "skip"))
    rejects: str | None = setting(None, "file for skipped records, with the reason")
    nproc: int = setting(
        1,
        "processes, or GPUs, that share each batch: the result is that of one, only sooner",
        low=1,
        high=1024,
    )
    offline: bool = setting(False, "never use the network")
    device: str | None = setting(None, "cpu, cuda, cuda:1 … (default: cuda where there is one)")
    quiet: bool = setting(False, "nothing on stderr but errors")

    def __post_init__(self) -> None:
        check(self)
