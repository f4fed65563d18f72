"""Settings of the methods that learn word embeddings, the records they read, and their models.

They are imported for their settings: what computes is imported only where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from structkit.errors import UserError, flag
from structkit.learning.folders.facts import check_fields
from structkit.learning.strae.sentences import Sentences, grown, leaf_depths
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.settings import GradientSettings, PassSettings
from structkit.learning.training.spool import Spool, remedy_for
from structkit.records.jsonl import Record, text_field
from structkit.settings import setting
from structkit.structure.trees.brackets import read as read_tree
from structkit.structure.trees.final_punct import before_final_punct, without_last
from structkit.structure.trees.letters import check_same
from structkit.structure.trees.texts import leaves_of
from structkit.structure.trees.words import words_of

if TYPE_CHECKING:
    from structkit.learning.strae.model import NodeModel, StrAE
    from structkit.learning.strae.nodes import TreeEncoder
    from structkit.learning.strae.text_models import TextModel
    from structkit.learning.strae.text_training import TextEncoder, TextTraining
    from structkit.learning.strae.training import StraeTraining

PAPER = "StrAE, appendix A"
ROOT = "root"  # a text is the embedding of its root, or the mean of its words
POOLINGS = (ROOT, "mean")


@dataclass(frozen=True)
class WordSettings(PassSettings):
    """What all these methods share: records are texts, `text` or the leaves of `tree`."""

    records: ClassVar[str] = "`text`, or `tree`, whose leaves are the words"
    needs: ClassVar[tuple[str, ...]] = ("text",)
    optional: ClassVar[tuple[str, ...]] = ()
    query_fields: ClassVar[tuple[str, ...]] = ("text", "tree")
    document_fields: ClassVar[tuple[str, ...]] = ("text", "tree")

    epochs: int = setting(15, "passes over the records", PAPER)
    embedding_size: int = setting(
        100, "dimensions of an embedding", "StrAE, section 3", low=1, high=100_000, group="model"
    )
    lowercase: bool = setting(True, "lowercase words", group="texts")
    minimum_count: int = setting(
        2,
        "rarer words share the embedding of unknown words",
        "StrAE, section 3",
        low=1,
        high=10**9,
        group="model",
    )
    final_punct: str = setting(
        "keep",
        "punctuation at the end of a text, in training and encoding",
        choices=("keep", "drop"),
        group="texts",
    )
    min_length: int = setting(
        1, "least words of a record: fewer are an error", low=1, high=10**9, group="texts"
    )
    max_length: int | None = setting(
        None, "most words of a record: more are an error", low=1, high=10**9, group="texts"
    )

    def prepare(self, record: Record) -> Record:
        """The words of a record."""
        if "text" in record or "tree" not in record:
            words: Sequence[str] = words_of(text_field(record, "text", "give texts to learn from"))
        else:
            words = read_tree(text_field(record, "tree")).words
        return {"id": record["id"], "words": self.fitting(words)}

    def read(self, text: str) -> Record:
        """A text of `encode` as a record: a tree in brackets is `tree`, anything else `text`."""
        return {"text": text} if leaves_of(text) is None else {"tree": text}

    def prepared(self, text: str) -> Record:
        """What is kept of a text of `encode`."""
        return self.prepare({"id": "", **self.read(text)})

    def fitting(self, words: Sequence[str]) -> Sequence[str]:
        """The words to learn. Errors: none at all, too few or too many."""
        if not words:
            raise UserError("there are no words", "leave the record out")
        words = self.kept(words)
        if len(words) < self.min_length:
            raise UserError(
                f"there are fewer than {self.min_length} words "
                f"({flag('min_length')}): {len(words)}",
                "leave the record out",
            )
        if self.longest and len(words) > self.longest:
            raise UserError(
                f"there are more than {self.longest:,} words "
                f"({flag('max_length')}): {len(words):,}",
                f"leave the record out, or raise {flag('max_length')}",
            )
        return words

    @property
    def longest(self) -> int | None:
        """The most words of a record."""
        return self.max_length

    def words(self, text: str) -> Sequence[str]:
        """The words of a text of `encode`: its leaves, where it is a tree in brackets."""
        leaves = leaves_of(text)
        return self.kept(words_of(text) if leaves is None else leaves)

    def kept(self, words: Sequence[str]) -> Sequence[str]:
        """Words without the final punctuation, if it is dropped and other words are left."""
        return words[: before_final_punct(words)] if self.final_punct == "drop" else words


@dataclass(frozen=True)
class VocabularySettings(WordSettings, GradientSettings):
    """A table of embeddings for a vocabulary of words or subwords, trained by gradient steps."""

    vocabulary_size: int = setting(
        25_000, "--subwords: most pieces", low=400, high=1_000_000, group="model"
    )
    subwords: bool = setting(False, "byte-pair pieces instead of words", group="model")
    max_length: int | None = setting(
        None, "most words of a record, or an error; default: --batch-tokens", low=1, high=10**9
    )
    embedding_dropout: float = setting(
        0.2, "dropout on embeddings", PAPER, low=0.0, high=0.99, group="model"
    )
    batch_size: int = setting(128, "records in one step", PAPER)
    batch_tokens: int = setting(
        16_384,
        "most leaves in one pass: a larger batch is split, its gradients added up",
        low=1,
        high=10**9,
        group="speed",
    )
    learning_rate: float = setting(1e-3, "highest learning rate of Adam", PAPER)
    schedule: str = setting(
        "constant", "the learning rate after the warm-up", choices=("linear", "constant")
    )
    warmup: float = setting(0.0, "share of the steps over which the learning rate rises")
    max_grad_norm: float = setting(0.0, "scale gradients down to this norm; 0: never")

    @property
    def longest(self) -> int | None:
        """The most words of a record, which cannot be split: losses compare all pairs of nodes."""
        return self.max_length or self.batch_tokens

    def corpus(self, spool: Spool) -> tuple[Vocabulary, Sentences]:
        """The vocabulary of the records, and all of them as numbers."""
        places = range(len(spool))
        vocabulary = Vocabulary.of(
            (spool[place]["words"] for place in places),
            subwords=self.subwords,
            size=self.vocabulary_size,
            minimum_count=self.minimum_count,
            lowercase=self.lowercase,
        )
        return vocabulary, Sentences(
            self.numbers(vocabulary.ids(record["words"]), record)
            for record in map(spool.__getitem__, places)
        )

    def numbers(
        self, ids: Sequence[Sequence[int]], record: Record
    ) -> tuple[list[int], Sequence[int]]:
        """The leaves of a prepared record, `ids` of each word, and their depths (here none)."""
        return [number for word in ids for number in word], ()


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


@dataclass(frozen=True)
class ComposedSettings(VocabularySettings):
    """The nodes of trees have embeddings that are composed from those of words."""

    made_of: ClassVar[tuple[str, ...]] = ("embedding_size",)
    induce: ClassVar[bool] = False  # the model makes its own trees

    # after 600 steps of 64 Wikipedia sentences, the mean of STS 12, 16, B and SICK R: Self-StrAE
    # 43.6 against 32.5 with it, StrAE 46.9 against 44.5; fastText 20.4 against 21.6
    final_punct: str = setting(
        "drop",
        "punctuation at the end of a text, in training and encoding: it is nearest to the root",
        choices=("keep", "drop"),
    )
    composition_dropout: float = setting(
        0.1,
        "dropout on composed and decomposed embeddings",
        PAPER,
        low=0.0,
        high=0.99,
        group="model",
    )
    init_range: float = setting(
        0.1, "embeddings start between -r and r", PAPER, low=0.0, high=1e3, group="model"
    )
    init_embeddings: str | None = setting(
        None,
        "word vectors to start from: NAME.npy with NAME.ids.txt, text as of GloVe, or the folder "
        "of a static model",
        group="model",
    )
    freeze_embeddings: bool = setting(
        False, "learn only composition, not the embeddings", group="model"
    )
    composition_rate: float = setting(
        1.0,
        "learning rate of composition and decomposition, as a multiple of the embeddings'",
        low=0.0,
        high=1e3,
        group="schedule",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init_embeddings and self.subwords:
            raise UserError(
                f"{flag('init_embeddings')} has vectors of words, but {flag('subwords')} learns "
                "pieces of them",
                "leave one out",
                status=2,
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The start model, the held-out records and the file of word vectors."""
        return (*super().reads, *filter(None, [self.init_embeddings]))

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
class NodeSettings(ComposedSettings):
    """StrAE's objectives over nodes, each of which has an upward and a downward embedding."""

    shared: ClassVar[bool] = True
    made_of: ClassVar[tuple[str, ...]] = (*ComposedSettings.made_of, "objective", "head")
    calmer: ClassVar[str] = f"{VocabularySettings.calmer} or --temperature"

    objective: str = setting(
        "contrastive",
        "contrastive over all nodes, ce: cross-entropy of the leaves, or both: the "
        "mean of ce and contrastive over inner nodes",
        "StrAE, section 2.1; both: arXiv 2404.01860",
        ("contrastive", "ce", "both"),
        group="loss",
    )
    learning_rate: float = setting(
        None, "learning rate of Adam; default 1e-4, for ce and both 1e-3", PAPER
    )
    temperature: float = setting(
        0.2, "temperature of the contrastive loss", PAPER, low=1e-6, high=1e6, group="loss"
    )
    temperature_form: str = setting(
        "divide",
        "cosine / temperature, or cosine · exp(temperature)",
        "StrAE; its released code",
        ("divide", "exp"),
        group="loss",
    )
    mask_duplicates: bool = setting(
        False, "nodes over the same words are not negatives of each other", group="loss"
    )
    head: str = setting(
        "tied",
        "table with which ce scores words: the embeddings, or a separate one",
        "StrAE, table 1",
        ("tied", "untied"),
        group="loss",
    )
    mean: str = setting(
        "sentence",
        "ce is a mean per sentence, or per token of the batch",
        "StrAE, eq. 1",
        ("sentence", "token"),
        group="loss",
    )

    # on two batches of 128 sentences of WikiText (15,207 words), after 250 steps, over six draws:
    # 1,000 words move the loss of 6.36 by 0.01 in the mean, with a deviation of 0.02, and their
    # gradient's cosine with the exact one is 0.85 and 0.97; 4,000 words 0.003, 0.01, 0.98 and 0.99
    ce_samples: int = setting(
        0,
        "words with which a step of ce compares, drawn besides those of its batch; 0: with all",
        low=0,
        high=10**7,
        group="loss",
    )

    def __post_init__(self) -> None:
        if self.learning_rate is None:
            rate = 1e-4 if self.objective == "contrastive" else 1e-3
            object.__setattr__(self, "learning_rate", rate)
        super().__post_init__()
        if self.ce_samples and self.objective == "contrastive":
            raise UserError(
                f"{flag('ce_samples')} is for cross-entropy, but {flag('objective')} is "
                "contrastive",
                f"leave it out, or use {flag('objective', 'ce')}",
                status=2,
            )

    @property
    def scale(self) -> float:
        """What multiplies a cosine in the contrastive loss."""
        return exp(self.temperature) if self.temperature_form == "exp" else 1 / self.temperature

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
class TreeSettings(NodeSettings):
    """Settings of models over given trees. Records are binary trees: `tree`."""

    records: ClassVar[str] = "`tree`, a binary tree in brackets"
    needs: ClassVar[tuple[str, ...]] = ("tree",)
    query_fields: ClassVar[tuple[str, ...]] = ("tree",)
    document_fields: ClassVar[tuple[str, ...]] = ("tree",)
    made_of: ClassVar[tuple[str, ...]] = (*NodeSettings.made_of, "subword_tree")

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
class ChannelSettings(ComposedSettings):
    """An embedding is a matrix, whose rows share composition and decomposition."""

    made_of: ClassVar[tuple[str, ...]] = (*ComposedSettings.made_of, "channels")

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
                f"{flag('embedding_size', self.embedding_size)} is not a multiple of "
                f"{flag('channels', self.channels)}",
                "change one of them",
                status=2,
            )


@dataclass(frozen=True)
class StraeSettings(NodeSettings, ChannelSettings):
    """Settings of StrAE; a square embedding has as many channels as columns."""

    made_of: ClassVar[tuple[str, ...]] = (*NodeSettings.made_of, "channels")

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
