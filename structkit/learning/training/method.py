"""The contract of a method, which a file of methods/ provides, and the options of a run.

Tests: tests/learning/training/test_train_settings.py.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from structkit.learning.training.data import Plan, Spool, keep_fields
from structkit.records.fields import DOCUMENT_FIELDS, QUERY_FIELDS
from structkit.records.jsonl import Record
from structkit.records.stream import ErrorOptions
from structkit.registry import Contract
from structkit.settings import Texts, check, make, offline_setting, setting, settings_class

# options of a run that are for steps
STEP_OPTIONS = ("save_every", "log_every", "log_format", "nproc")


@settings_class
class Method(Contract):
    """Contract of a file of methods/: making a model from records, and loading it again.

    Its fields, made by `setting`, are the flags of `train METHOD`. A method that trains by gradient
    steps extends `GradientSettings`, a Hugging Face encoder `EncoderSettings`
    (structkit.learning.encoders.settings), which provide nearly all of the rest. Errors: a value
    out of its range or choices is a `UserError` with status 2 that names the flag.
    """

    own_group: ClassVar[str] = "method"
    """Group of settings that name none, in its help."""

    query_fields: ClassVar[Texts] = QUERY_FIELDS
    """Fields of a query for `encode`; the first one that a record has counts."""

    document_fields: ClassVar[Texts] = DOCUMENT_FIELDS
    """Fields of a document for `encode`."""

    needs: ClassVar[Texts] = ("query", "positive")
    """The fields that a training record must have, as strings."""

    optional: ClassVar[Texts] = ("negatives",)
    """Those that it may have, as lists of strings."""

    records: ClassVar[str] = "`query`, `positive`; optional: `negatives`"
    """The fields that it reads of a training record, in words, for its help."""

    without_records: ClassVar[bool] = False
    """True if a model can be made without any."""

    shared: ClassVar[bool] = False
    """True if several processes can share a batch."""

    example: ClassVar[str] = ""
    """A command that trains it, for the end of its help."""

    usage: ClassVar[str] = "encode texts.jsonl -m {} -o out.jsonl"
    """A command that uses the model `{}`, for its card."""

    seed: int = setting(
        0,
        "seed of initialization, order, dropout and sampling",
        low=-(2**63),
        high=2**63 - 1,
        group="common",
    )

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def idle_options(cls) -> frozenset[str]:
        """Return options of a run without effect, for which there are no flags."""
        return frozenset(STEP_OPTIONS)

    @property
    def start(self) -> str | None:
        """The model that the training starts from: a folder, or a hub name."""
        return None

    @property
    def frozen_start(self) -> str | None:
        """The start model, if none of its weights are trained: a checkpoint lacks them."""
        return None

    @property
    def held_out(self) -> str | None:
        """The file of records that choose the best model and are not trained on."""
        return None

    @property
    def reads(self) -> Texts:
        """Files that the training reads in addition to the records."""
        return tuple(filter(None, (self.start, self.held_out)))

    def complete(self) -> Self:
        """Return these settings, completed from the start model, which is already downloaded."""
        return self

    def prepare(self, record: Record) -> Record:
        """Return the kept fields of a training record, with its `id`. Errors: an unusable one."""
        return keep_fields(record, self.needs, self.optional)

    def plan(self, records: int) -> Plan:
        """Return the steps of a training on so many records: none, as it is complete when built."""
        return Plan(records, 1, 1, warmup=0.0, seed=self.seed, max_steps=0)

    @abstractmethod
    def build(self, spool: Spool) -> Any:
        """Build the training of a new model on prepared records, by complete settings.

        It is a `TrainingModule` (structkit.learning.training.trainer).
        """

    @classmethod
    def of(cls, values: Record) -> Self:
        """Return the settings that a model folder records, with defaults for missing ones.

        Errors: `UserError` for one of another type or out of bounds.
        """
        return make(cls, values)

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, metadata: Record) -> object:
        """Load the trained model in a folder: a `Model` for `encode`, or a parser's model."""


@settings_class
class PassSettings(Method):
    """The settings of a training that passes over the records."""

    epochs: int = setting(1, "passes over the records", low=1, high=1_000_000, group="common")
    learning_rate: float = setting(
        5e-5, "peak learning rate of AdamW", low=0.0, high=1.0, group="common"
    )


@settings_class
class GradientSettings(PassSettings):
    """The settings of a training by gradient steps, one for each batch."""

    batch_size: int = setting(32, "records per step", low=1, high=1_000_000, group="common")
    warmup: float = setting(
        0.1,
        "share of the steps in which the learning rate warms up",
        low=0,
        high=1,
        group="schedule",
    )
    schedule: str = setting(
        "linear",
        "learning rate after the warm-up",
        "",
        ("linear", "constant"),
        group="schedule",
    )
    max_grad_norm: float = setting(
        1.0, "clip gradients to this norm; 0: never", low=0.0, high=1e6, group="schedule"
    )
    max_steps: int | None = setting(
        None,
        "stop after this many steps; 0 writes the untrained model",
        low=0,
        high=10**12,
        group="common",
    )

    validate: str | None = setting(
        None,
        "held-out records, evaluated every 500 steps or each epoch, whichever comes first; the "
        "best model on them is kept",
        group="schedule",
    )
    validate_measure: str = setting(
        "loss",
        "what is best: the lowest loss, or the highest measure of the ranking of all documents of "
        "{validate} for each of its queries",
        choices=("loss", "nDCG@10", "RR@10"),
        group="schedule",
        requires="validate",
    )
    patience: int | None = setting(
        None,
        "end a stage after this many evaluations without gain",
        low=1,
        high=10**6,
        group="schedule",
        requires="validate",
    )

    @classmethod
    def idle_options(cls) -> frozenset[str]:
        return frozenset() if cls.shared else frozenset(("nproc",))

    @property
    def held_out(self) -> str | None:
        """The file of `validate`."""
        return self.validate

    @property
    def stage_names(self) -> Texts:
        """The stages of a training, in order, each with all its epochs and its own warm-up."""
        return ("train",)

    def plan(self, records: int) -> Plan:
        return Plan(
            records,
            self.batch_size,
            self.epochs,
            self.warmup,
            self.seed,
            self.max_steps,
            self.stage_names,
            constant=self.schedule == "constant",
            max_grad_norm=self.max_grad_norm,
        )


@settings_class
class RunOptions(ErrorOptions):
    """Settings of a run, which do not change the resulting model."""

    output: str | None = setting(
        None, "model folder to write", group="common", short="-o", inferred="models/METHOD"
    )
    overwrite: bool = setting(
        False, "replace the model folder and discard a stopped run", group="run", excludes="resume"
    )
    resume: bool = setting(False, "continue a stopped run", group="run")
    save_every: int = setting(
        0, "steps between checkpoints; 0: only when stopped", low=0, high=10**12, group="run"
    )
    log_every: int = setting(10, "steps between log lines", low=1, high=10**12, group="run")
    log_format: str = setting(
        "text",
        "log format on stderr; json writes a line per log step",
        "",
        ("text", "json"),
        group="run",
    )
    nproc: int = setting(
        1,
        "processes or GPUs that share each batch; but for dropout, the result is the same; use "
        "torchrun for several machines",
        low=1,
        high=1024,
        group="speed",
    )
    offline: bool = offline_setting()
    quiet: bool = setting(False, "print only errors", group="run", short="-q")

    def __post_init__(self) -> None:
        check(self)
