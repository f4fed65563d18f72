"""What methods that learn word embeddings have in common: how models are built and loaded.

They are imported for their settings: what computes is imported only where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from structkit.errors import UserError
from structkit.learning.folders.facts import check_fields
from structkit.learning.strae.sentences import grown, leaf_depths
from structkit.learning.strae.settings import ComposedSettings, NodeSettings, VocabularySettings
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.spool import Spool, remedy_for
from structkit.plugin import setting
from structkit.records.jsonl import Record, text_field
from structkit.structure.trees.brackets import read as read_tree
from structkit.structure.trees.final_punct import without_last
from structkit.structure.trees.letters import check_same

if TYPE_CHECKING:
    from structkit.learning.strae.model import NodeModel, StrAE
    from structkit.learning.strae.nodes import TreeEncoder
    from structkit.learning.strae.text_models import TextModel
    from structkit.learning.strae.text_training import TextEncoder, TextTraining
    from structkit.learning.strae.training import StraeTraining

ROOT = "root"  # a text is the embedding of its root, or the mean of its words
POOLINGS = (ROOT, "mean")


@dataclass(frozen=True)
class TreeSettings(NodeSettings):
    """Settings of models over given trees. Records are binary trees: `tree`."""

    records: ClassVar[str] = "`tree`, a binary tree in brackets"
    needs: ClassVar[tuple[str, ...]] = ("tree",)
    query_fields: ClassVar[tuple[str, ...]] = ("tree",)
    document_fields: ClassVar[tuple[str, ...]] = ("tree",)

    subword_tree: str = setting(
        "balanced", "tree over the pieces of one word", "", ("balanced", "left"), group="model"
    )

    def prepare(self, record: Record) -> Record:
        """The words and the tree of a record. Errors: no binary tree, or not that of its `text`."""
        tree = read_tree(text_field(record, "tree", remedy_for("tree")))
        if isinstance(text := record.get("text"), str):
            check_same(tree.words, text)
        words = self.fitting(tree.words)
        depths = without_last(leaf_depths(tree), len(tree.words) - len(words))
        return {"id": record["id"], "words": words, "depths": depths}

    def read(self, text: str) -> Record:
        """A text of `encode` as a record."""
        return {"tree": text}

    def numbers(
        self, ids: Sequence[Sequence[int]], record: Record
    ) -> tuple[list[int], Sequence[int]]:
        """The leaves of a prepared record, `ids` of each word, and their depths."""
        return grown(ids, record["depths"], self.subword_tree)


@dataclass(frozen=True)
class TreeMethod(ComposedSettings):
    """How the model of such a method is loaded; a subclass knows the model."""

    made_of: ClassVar[tuple[str, ...]] = ("embedding_size",)

    def untrained(self, words: int) -> NodeModel:
        """A model with random parameters, by the seed."""
        raise NotImplementedError

    @classmethod
    def check_facts(cls, facts: Record) -> None:
        check_fields(facts, {"pooling": lambda value: value in POOLINGS})

    @classmethod
    def load(cls, folder: Path, facts: Record) -> TreeEncoder:
        from structkit.learning.strae.nodes import TreeEncoder
        from structkit.learning.training.module import fill

        vocabulary = Vocabulary.load(folder)
        settings = cls.of(facts["settings"])
        model = settings.untrained(len(vocabulary))
        fill(model, folder)
        return TreeEncoder(settings, model, vocabulary, facts["pooling"])


@dataclass(frozen=True)
class NodeMethod(NodeSettings, TreeMethod):
    """A method with StrAE's objectives."""

    shared: ClassVar[bool] = True
    made_of: ClassVar[tuple[str, ...]] = (*TreeMethod.made_of, "objective", "head")

    @property
    def untied(self) -> bool:
        """Whether words are scored with a separate table."""
        return self.head == "untied" and self.objective != "contrastive"

    def build(self, spool: Spool, *, offline: bool = False) -> StraeTraining:
        from structkit.learning.strae.training import StraeTraining

        vocabulary, sentences = self.corpus(spool)
        model = self.untrained(len(vocabulary)).started(self, vocabulary.words)
        return StraeTraining(self, model, vocabulary, sentences)


@dataclass(frozen=True)
class ChannelSettings(TreeMethod):
    """An embedding is a matrix, whose rows share composition and decomposition."""

    made_of: ClassVar[tuple[str, ...]] = (*TreeMethod.made_of, "channels")

    channels: int = setting(
        10,
        "rows of an embedding; composition sees one at a time",
        "StrAE, section 2",
        low=1,
        high=100_000,
        group="model",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding_size % self.channels:
            raise UserError(
                f"--embedding-size {self.embedding_size} is not a multiple of --channels "
                f"{self.channels}",
                "change one of them",
                status=2,
            )


@dataclass(frozen=True)
class StraeSettings(NodeMethod, ChannelSettings):
    """Settings of StrAE; a square embedding has as many channels as columns."""

    made_of: ClassVar[tuple[str, ...]] = (*NodeMethod.made_of, "channels")

    composition_init: str = setting(
        "uniform",
        "start of composition: random, as in the released code, or a scaled sum",
        "",
        ("uniform", "sum"),
        group="model",
    )

    def untrained(self, words: int) -> StrAE:
        from structkit.learning.strae.model import StrAE
        from structkit.learning.training.module import seed_parameters

        seed_parameters(self.seed)
        return StrAE(
            words,
            self.embedding_size,
            self.channels,
            self.init_range,
            untied=self.untied,
            summing=self.composition_init == "sum",
        )


@dataclass(frozen=True)
class TextSettings(VocabularySettings):
    """What bi-lstm and roberta share: how they are built and loaded."""

    made_of: ClassVar[tuple[str, ...]] = ("embedding_size",)

    def untrained(self, words: int) -> TextModel:
        """A model with random parameters, by the seed."""
        raise NotImplementedError

    def build(self, spool: Spool, *, offline: bool = False) -> TextTraining:
        from structkit.learning.strae.text_training import TextTraining

        vocabulary, sentences = self.corpus(spool)
        return TextTraining(self, self.untrained(len(vocabulary)), vocabulary, sentences)

    @classmethod
    def load(cls, folder: Path, facts: Record) -> TextEncoder:
        from structkit.learning.strae.text_training import TextEncoder
        from structkit.learning.training.module import fill

        vocabulary = Vocabulary.load(folder)
        settings = cls.of(facts["settings"])
        model = settings.untrained(len(vocabulary))
        fill(model, folder)
        return TextEncoder(settings, model, vocabulary)
