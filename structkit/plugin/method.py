"""What a file of methods/ provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from pathlib import Path

    from structkit.learning.training.module import TrainingModule
    from structkit.learning.training.plan import Plan
    from structkit.learning.training.spool import Spool
    from structkit.records.jsonl import Record


@dataclass(frozen=True)
class Method(ABC):
    """A file of methods/: how records become a model, and how the model is read back.

    Its fields, made by `setting`, are the flags of `train METHOD`. What trains by gradient steps
    extends `GradientSettings` (structkit.learning.training.settings), what is made without steps
    `TrainingSettings`, and a Hugging Face encoder `EncoderSettings`
    (structkit.learning.encoders.settings), which provide most of the rest.
    """

    own_group: ClassVar[str] = "method"
    """Where its help lists settings that name no group."""

    query_fields: ClassVar[tuple[str, ...]]
    """Where `encode` finds a query in a record: the first field that it has."""

    document_fields: ClassVar[tuple[str, ...]]
    """Where `encode` finds a document."""

    without_records: ClassVar[bool] = False  # whether a model can be made without any
    shared: ClassVar[bool] = False
    """Whether several processes can share a batch."""

    records: ClassVar[str] = ""
    """The fields that it reads of a training record, in words, for its help."""

    example: ClassVar[str] = ""
    """A command that trains it, for the end of its help."""

    @classmethod
    def idle_options(cls) -> frozenset[str]:
        """Options of a run that do nothing for it: `train METHOD` has no such flags."""
        return frozenset()

    @property
    def start(self) -> str | None:
        """The model that the training starts from: a folder, or a hub name."""
        return None

    @property
    def held_out(self) -> str | None:
        """The file of records that choose the best model and are not trained on."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """Files that the training reads besides the records."""
        return tuple(filter(None, (self.start, self.held_out)))

    def settled(self, *, offline: bool = False) -> Self:
        """These settings; those left open are as in the start model."""
        return self

    @abstractmethod
    def prepare(self, record: Record) -> Record:
        """What is kept of a training record, with its `id`; an unusable one raises."""

    @abstractmethod
    def plan(self, records: int) -> Plan:
        """The steps of a training on this number of records."""

    @abstractmethod
    def build(self, spool: Spool, *, offline: bool = False) -> TrainingModule:
        """The training of a new model on prepared records, by settled settings."""

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """All settings, as they are written to `structkit.json`."""

    @classmethod
    @abstractmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The settings that a model folder records; invalid ones raise."""

    @classmethod
    def check_facts(cls, facts: Record) -> None:
        """Raise if `structkit.json` lacks what `load` reads besides the settings."""
        return None

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, facts: Record) -> object:
        """The trained model in a folder: a `Model` for `encode`, or what a parser needs."""
