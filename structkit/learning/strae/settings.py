"""Settings of the methods that learn word embeddings, and the records that they read.

What computes is named, and imported where a model is built or read: help needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import exp
from pathlib import Path
from typing import Any, ClassVar

from structkit.errors import UserError, flag
from structkit.learning.folders import check_fields
from structkit.learning.strae.sentences import Sentences, leaf_depths, split_words, without_last
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.settings import GradientSettings, PassSettings
from structkit.learning.training.spool import Spool, remedy_for
from structkit.records.jsonl import Record, text_field
from structkit.settings import setting
from structkit.structure.trees.brackets import before_final_punct, leaves_of
from structkit.structure.trees.brackets import read as read_tree
from structkit.structure.trees.words import check_same, words_of

PAPER = "StrAE, appendix A"
ROOT = "root"  # a text is the embedding of its root, or the mean of its words
POOLINGS = (ROOT, "mean")
HERE = "structkit.learning.strae"


def import_class(path: str) -> Any:
    """The class that `module:name` stands for, imported now."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class WordSettings(PassSettings):
    """What all these methods share: records are texts, `text` or the leaves of `tree`."""

    records: ClassVar[str] = "`text`, or `tree`, whose leaves are the words"
    needs: ClassVar[tuple[str, ...]] = ("text",)
    optional: ClassVar[tuple[str, ...]] = ()
    query_fields: ClassVar[tuple[str, ...]] = ("text", "tree")
    document_fields: ClassVar[tuple[str, ...]] = ("text", "tree")

    epochs: int = setting(15, source=PAPER)
    embedding_size: int = setting(
        100, "dimensions of an embedding", "StrAE, section 3", low=1, high=100_000, group="model"
    )
    lowercase: bool = setting(True, "lowercase words", group="texts")
    minimum_count: int = setting(
        2, "rarer words share one embedding", "StrAE, section 3", low=1, high=10**9, group="model"
    )
    final_punct: str = setting(
        "keep",
        "punctuation at the end of a text, in training and encoding",
        choices=("keep", "drop"),
        group="texts",
    )
    min_length: int = setting(
        1, "minimum words of a record: fewer are an error", low=1, high=10**9, group="texts"
    )
    max_length: int | None = setting(
        None, "maximum words of a record: more are an error", low=1, high=10**9, group="texts"
    )

    def prepare(self, record: Record) -> Record:
        """The words of a record."""
        if "text" in record or "tree" not in record:
            words: Sequence[str] = words_of(text_field(record, "text", "give texts to learn from"))
        else:
            words = read_tree(text_field(record, "tree")).words
        return {"id": record["id"], "words": self.words_to_learn(words)}

    def prepared(self, text: str) -> Record:
        """What is kept of a text of `encode`."""
        return {"id": "", "words": self.words_to_learn(self.words(text))}

    def words_to_learn(self, words: Sequence[str]) -> Sequence[str]:
        """The words to learn. Errors: none at all, too few or too many."""
        if not words:
            raise UserError("there are no words", "leave the record out")
        words = self.without_final_punct(words)
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
        """The maximum words of a record."""
        return self.max_length

    def words(self, text: str) -> Sequence[str]:
        """The words of a text of `encode`: its leaves, where it is a tree in brackets."""
        leaves = leaves_of(text)
        return self.without_final_punct(words_of(text) if leaves is None else leaves)

    def without_final_punct(self, words: Sequence[str]) -> Sequence[str]:
        """Words without the final punctuation, if it is dropped and other words are left."""
        return words[: before_final_punct(words)] if self.final_punct == "drop" else words


@dataclass(frozen=True)
class VocabularySettings(WordSettings, GradientSettings):
    """A table of embeddings for a vocabulary of words or subwords, trained by gradient steps."""

    network: ClassVar[str]
    parts: ClassVar[str] = ""  # the setting that says into how many equal parts an embedding is cut
    training: ClassVar[str] = f"{HERE}.texts:TextTraining"
    encoder: ClassVar[str] = f"{HERE}.texts:TextEncoder"

    vocabulary_size: int = setting(
        25_000, "--subwords: maximum pieces", low=400, high=1_000_000, group="model"
    )
    subwords: bool = setting(False, "byte-pair pieces instead of words", group="model")
    max_length: int | None = setting(
        None, "maximum words of a record: more are an error; default: --batch-tokens"
    )
    embedding_dropout: float = setting(
        0.2, "dropout on embeddings", PAPER, low=0.0, high=0.99, group="model"
    )
    batch_size: int = setting(128, source=PAPER)
    batch_tokens: int = setting(
        16_384,
        "maximum leaves in one pass: a larger batch is split, its gradients added up",
        low=1,
        high=10**9,
        group="speed",
    )
    learning_rate: float = setting(1e-3, "highest learning rate of Adam", PAPER)
    schedule: str = setting("constant")
    warmup: float = setting(0.0)
    max_grad_norm: float = setting(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts and self.embedding_size % getattr(self, self.parts):
            raise UserError(
                f"{flag('embedding_size', self.embedding_size)} is not a multiple of "
                f"{flag(self.parts, getattr(self, self.parts))}",
                "change one of them",
                status=2,
            )

    @property
    def longest(self) -> int | None:
        """The maximum words of a record, which cannot be split: losses compare all its nodes."""
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

    def untrained(self, words: int) -> Any:
        """A model with random parameters, by the seed."""
        return import_class(self.network).untrained(words, self)

    def build(self, spool: Spool, *, offline: bool = False) -> Any:
        return import_class(self.training).of(self, spool)

    @classmethod
    def load(cls, folder: Path, facts: Record) -> Any:
        return import_class(cls.encoder).read(folder, cls.of(facts["settings"]), facts)


@dataclass(frozen=True)
class ComposedSettings(VocabularySettings):
    """The nodes of trees have embeddings that are composed from those of words."""

    encoder: ClassVar[str] = f"{HERE}.nodes:TreeEncoder"

    # after 600 steps of 64 Wikipedia sentences, the mean of STS 12, 16, B and SICK R: Self-StrAE
    # 43.6 against 32.5 with it, StrAE 46.9 against 44.5; fastText 20.4 against 21.6
    final_punct: str = setting(
        "drop",
        "punctuation at the end of a text, in training and encoding: it is nearest to the root",
    )
    composition_dropout: float = setting(
        0.1, "dropout on composed and decomposed nodes", PAPER, low=0.0, high=0.99, group="model"
    )
    init_range: float = setting(
        0.1, "embeddings start between -r and r", PAPER, low=0.0, high=1e3, group="model"
    )
    init_embeddings: str | None = setting(
        None,
        "word vectors to start from: NAME.npy with NAME.ids.txt, text as of GloVe, or the folder "
        "of a static model",
        group="model",
        excludes="subwords",
    )
    freeze_embeddings: bool = setting(
        False, "learn only composition, not the embeddings", group="model"
    )

    @property
    def dropouts(self) -> tuple[float, float]:
        """Of embeddings, and of what is composed and decomposed."""
        return self.embedding_dropout, self.composition_dropout

    @property
    def reads(self) -> tuple[str, ...]:
        """The start model, the held-out records and the file of word vectors."""
        return (*super().reads, *filter(None, [self.init_embeddings]))

    @classmethod
    def check_facts(cls, facts: Record) -> None:
        check_fields(facts, {"pooling": lambda value: value in POOLINGS})


@dataclass(frozen=True)
class NodeSettings(ComposedSettings):
    """StrAE's objectives over nodes, each of which has an upward and a downward embedding."""

    training: ClassVar[str] = f"{HERE}.training:StraeTraining"
    shared: ClassVar[bool] = True

    objective: str = setting(
        "contrastive",
        "contrastive over all nodes, ce: cross-entropy of the leaves, or both: the mean of ce and "
        "contrastive over inner nodes",
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
        "table with which ce scores words: the embeddings, or a separate one with a bias",
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


@dataclass(frozen=True)
class GivenTrees(VocabularySettings):
    """Records are binary trees: `tree`. It comes last among the classes of a method."""

    records: ClassVar[str] = "`tree`, a binary tree in brackets"
    needs: ClassVar[tuple[str, ...]] = ("tree",)
    query_fields: ClassVar[tuple[str, ...]] = ("tree",)
    document_fields: ClassVar[tuple[str, ...]] = ("tree",)

    def prepare(self, record: Record) -> Record:
        """The words and the tree of a record. Errors: no binary tree, or not that of its `text`."""
        tree = read_tree(text_field(record, "tree", remedy_for("tree")))
        if isinstance(text := record.get("text"), str):
            check_same(tree.words, text)
        words = self.words_to_learn(tree.words)
        depths = without_last(leaf_depths(tree), len(tree.words) - len(words))
        return {"id": record["id"], "words": words, "depths": depths}

    def prepared(self, text: str) -> Record:
        """What is kept of a text of `encode`."""
        return self.prepare({"id": "", "tree": text})

    def numbers(
        self, ids: Sequence[Sequence[int]], record: Record
    ) -> tuple[list[int], Sequence[int]]:
        """The leaves of a prepared record, `ids` of each word, and their depths."""
        return split_words(ids, record["depths"])


@dataclass(frozen=True)
class StraeSettings(NodeSettings):
    """Settings of StrAE; a square embedding has as many channels as columns."""

    network: ClassVar[str] = f"{HERE}.model:StrAE"
    parts: ClassVar[str] = "channels"

    channels: int = setting(
        10,
        "rows of an embedding; composition sees one at a time",
        "StrAE, section 2",
        low=1,
        high=100_000,
        group="model",
    )
    composition_init: str = setting(
        "uniform",
        "start of composition: random, as in the released code, or a scaled sum",
        choices=("uniform", "sum"),
        group="model",
    )
