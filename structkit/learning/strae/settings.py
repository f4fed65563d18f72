"""Settings of the methods that learn word embeddings, and the records that they read.

A method imports its network where it makes one: help needs no torch.

Tests: tests/learning/strae/test_strae_training.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from structkit.errors import UserError, flag, program, wrong_usage
from structkit.learning.strae.sentences import Sentence, expand_subwords, leaf_depths
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.data import Spool
from structkit.learning.training.method import GradientSettings
from structkit.records.fields import remedy_for
from structkit.records.jsonl import Record, text_field
from structkit.settings import Texts, setting, settings_class
from structkit.structure.trees.brackets import before_final_punct, leaves_of, read_tree
from structkit.structure.trees.words import check_same, words_of

STRAE_APPENDIX = "StrAE, appendix A"
ROOT_POOLING = "root"  # a text is the embedding of its root, or the mean of its words
TREE_POOLINGS = (ROOT_POOLING, "mean")
PAIRS_OBJECTIVE = "pairs"  # the objective that links two texts
PAIR_FIELDS = ("query", "positive")  # of a pair


@settings_class
class WordSettings:
    """Settings that all these methods share: records are texts, `text` or the leaves of `tree`.

    Among a method's base classes it comes before the settings of a training.
    """

    records: ClassVar[str] = "`text`, or `tree`, whose leaves are the words"
    needs: ClassVar[Texts] = ("text",)
    optional: ClassVar[Texts] = ()
    query_fields: ClassVar[Texts] = ("text", "tree")
    document_fields: ClassVar[Texts] = ("text", "tree")
    min_words = 1  # the minimum words of a training record

    epochs: int = setting(15, source=STRAE_APPENDIX)
    embedding_size: int = setting(
        100, "dimensions of an embedding", "StrAE, section 3", low=1, high=100_000, group="model"
    )
    minimum_count: int = setting(
        2, "rarer words share one embedding", "StrAE, section 3", low=1, high=10**9, group="model"
    )
    final_punct: str = setting(
        "keep",
        "keep or drop the punctuation at the end of a text, in training and encoding",
        choices=("keep", "drop"),
        group="texts",
    )
    max_length: int | None = setting(
        None,
        "maximum words of a record; a longer record is an error",
        low=1,
        high=10**9,
        group="texts",
    )

    def prepare(self, record: Record) -> Record:
        """Return the words of a record to learn from. Errors: none at all, too few or too many."""
        return {"id": record["id"], **self.check_length(self.read(record))}

    def check_length(self, found: Record) -> Record:
        """Return what was read, if it has a valid number of words for training."""
        words, most = len(found["words"]), self.max_words
        if words < self.min_words:
            raise UserError(
                f"there are fewer than {self.min_words} words: {words}", "leave the record out"
            )
        if most and words > most:
            raise UserError(
                f"there are more than {most:,} words ({flag('max_length')}): {words:,}",
                f"leave the record out, or raise {flag('max_length')}",
            )
        return found

    def read(self, record: Record) -> Record:
        """Return the words of a record."""
        if "text" in record or "tree" not in record:
            return self.prepared(text_field(record, "text", "give texts to learn from"))
        return {"words": self.drop_final_punct(read_tree(text_field(record, "tree")).words)}

    def prepared(self, text: str) -> Record:
        """Return the words of a text, or its leaves if it is a tree in brackets."""
        leaves = leaves_of(text)
        return {"words": self.drop_final_punct(words_of(text) if leaves is None else leaves)}

    def drop_final_punct(self, words: Sequence[str]) -> Sequence[str]:
        """Return words without dropped final punctuation, if other words are left."""
        if not words:
            raise UserError("there are no words", "leave the record out")
        return words[: before_final_punct(words)] if self.final_punct == "drop" else words

    @property
    def max_words(self) -> int | None:
        """The maximum words of a training record."""
        return self.max_length


@settings_class
class VocabularySettings(WordSettings, GradientSettings):
    """A table of embeddings for a vocabulary of words or subwords, trained by gradient steps."""

    parts = ""  # attribute with the number of parts of an embedding

    vocabulary_size: int = setting(
        25_000, "maximum subwords, with {subwords}", low=400, high=1_000_000, group="model"
    )
    subwords: bool = setting(False, "use byte-pair subwords instead of words", group="model")
    batch_size: int = setting(128, source=STRAE_APPENDIX)
    batch_tokens: int = setting(
        16_384,
        "maximum leaves in one pass, and of a record; a larger batch is split and its "
        "gradients are summed",
        low=1,
        high=10**9,
        group="speed",
    )
    learning_rate: float = setting(1e-3, "peak learning rate of Adam", STRAE_APPENDIX)
    schedule: str = setting("constant")
    warmup: float = setting(0.0)
    max_grad_norm: float = setting(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts and self.embedding_size % getattr(self, self.parts):
            raise wrong_usage(
                f"{flag('embedding_size', self.embedding_size)} is not a multiple of "
                f"{getattr(self, self.parts)} {self.parts}",
                "change it",
            )

    @property
    def max_words(self) -> int | None:
        """The maximum words of a record, which cannot be split: losses compare all its nodes."""
        return self.max_length or self.batch_tokens

    def numbers(self, vocabulary: Vocabulary, records: Iterable[Record]) -> list[Sentence]:
        """Return prepared records as ids, with the depths of the leaves if they have trees."""
        return [
            expand_subwords(vocabulary.ids(record["words"]), record.get("depths", ()))
            for record in records
        ]

    def texts(self, records: Iterable[Record]) -> Iterable[Record]:
        """Return the words of prepared records, and their other data: one text each."""
        return records

    @abstractmethod
    def make_model(self, words: int) -> Any:
        """Return a model with random parameters, by the seed: a `VocabularyModel`."""

    def build(self, spool: Spool) -> Any:
        vocabulary = Vocabulary.of(
            (each["words"] for each in self.texts(spool)),
            subwords=self.subwords,
            size=self.vocabulary_size,
            minimum_count=self.minimum_count,
        )
        for text in self.texts(spool):
            vocabulary.ids(text["words"])  # counts the unknown ones
        model = self.make_model(len(vocabulary))
        return model.make_training(self, model, vocabulary)

    @classmethod
    def load(cls, folder: Path, metadata: Record) -> Any:
        settings, vocabulary = cls.of(metadata["settings"]), Vocabulary.load(folder)
        model = settings.make_model(len(vocabulary))
        return model.encoder_class(settings, model, vocabulary).read(folder, metadata)


@settings_class
class TreeSettings(VocabularySettings):
    """Settings of methods whose nodes compose their embeddings from words."""

    # after 600 steps of 64 Wikipedia sentences, the mean of STS 12, 16, B and SICK R: Self-StrAE
    # 43.6 against 32.5 with it, StrAE 46.9 against 44.5
    final_punct: str = setting(
        "drop",
        "keep or drop the punctuation at the end of a text, which is nearest to the root, in "
        "training and encoding",
    )
    init_embeddings: str | None = setting(
        None,
        "word vectors to start from: NAME.npy with NAME.ids.txt, text in GloVe's format, or "
        "the folder of a static model",
        group="model",
        excludes="subwords",
    )
    init_range: float = setting(
        0.1,
        "largest number of a random start embedding (r)",
        STRAE_APPENDIX,
        low=1e-6,
        high=10,
        group="model",
    )
    freeze_embeddings: bool = setting(
        False, "train only composition, not the embeddings", group="model"
    )

    @property
    def reads(self) -> Texts:
        """The start model, the held-out records and the file of word vectors."""
        return (*super().reads, *filter(None, [self.init_embeddings]))


def usual_learning_rate(settings: NodeSettings) -> float:
    """0.001, or 0.0001 with {objective:contrastive}"""
    return 1e-4 if settings.objective == "contrastive" else 1e-3


@settings_class
class NodeSettings(TreeSettings):
    """Settings of StrAE's objectives over nodes, each with an upward and a downward embedding."""

    ce_mean = "sentence"  # cross-entropy is a mean per sentence (eq. 1), or "token"

    objective: str = setting(
        "contrastive",
        "loss: contrastive over all nodes; ce, cross-entropy of the leaves; both, the mean of "
        "ce and contrastive over inner nodes; or pairs, contrastive between the roots of "
        "`query` and `positive`, which records then need",
        "StrAE, section 2.1; both: arXiv 2404.01860",
        ("contrastive", "ce", "both", PAIRS_OBJECTIVE),
        group="loss",
    )
    pooling: str = setting(
        ROOT_POOLING,
        "embedding of a text with {objective:pairs}: its root, or the mean of its words "
        "without composition",
        choices=TREE_POOLINGS,
        group="loss",
        requires="objective",
    )
    learning_rate: float = setting(
        None, "learning rate of Adam", STRAE_APPENDIX, usual=usual_learning_rate
    )
    # up to a score of 40 no exponential overflows or vanishes
    temperature: float = setting(
        0.2,
        "temperature that divides cosines in the contrastive loss",
        STRAE_APPENDIX,
        low=0.025,
        high=1e6,
        group="loss",
    )
    mask_duplicates: bool = setting(
        False,
        "never use nodes over the same words, or pairs with the same text, as negatives of "
        "each other",
        group="loss",
    )
    head: str = setting(
        "tied",
        "output table of ce: the embeddings, or a separate one with a bias",
        "StrAE, table 1",
        ("tied", "untied"),
        group="loss",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooling != ROOT_POOLING and self.objective != PAIRS_OBJECTIVE:
            raise wrong_usage(
                f"{flag('pooling', self.pooling)} is not for {flag('objective', self.objective)}",
                f"use {flag('objective', PAIRS_OBJECTIVE)}",
            )

    def prepare(self, record: Record) -> Record:
        """Return the words of a record's text, or of both texts of a pair."""
        if self.objective != PAIRS_OBJECTIVE:
            return super().prepare(record)
        return {"id": record["id"], "texts": [self.read_side(record, name) for name in PAIR_FIELDS]}

    def read_side(self, record: Record, name: str) -> Record:
        """Return the words of the text in this field. Errors: they name it."""
        remedy = f"add the other text of the pair with {program('select')} {flag('join')}"
        text = text_field(record, name, remedy)
        try:
            return self.check_length(self.prepared(text))
        except UserError as error:
            raise UserError(f'field "{name}": {error.problem}', error.remedy) from None

    def texts(self, records: Iterable[Record]) -> Iterable[Record]:
        """Return the texts of prepared records; of pairs, query and positive in turn."""
        if self.objective != PAIRS_OBJECTIVE:
            return records
        return (text for record in records for text in record["texts"])

    @property
    def has_own_head(self) -> bool:
        """Whether words are scored with a separate table."""
        return self.head == "untied" and self.objective in ("ce", "both")


@settings_class
class GivenTrees(VocabularySettings):
    """Records are binary trees: `tree`. It comes last among the classes of a method."""

    records = "`tree`, a binary tree in brackets; for pairs: `query`, `positive`"
    needs = ("tree",)
    query_fields = ("tree",)
    document_fields = ("tree",)

    def read(self, record: Record) -> Record:
        """Return the words and the tree of a record. Errors: no binary tree, other words."""
        tree = read_tree(text_field(record, "tree", remedy_for("tree")))
        if isinstance(text := record.get("text"), str):
            check_same(tree.words, text)
        words = self.drop_final_punct(tree.words)
        return {"words": words, "depths": leaf_depths(tree, len(words))}

    def prepared(self, text: str) -> Record:
        """Return the words and the tree of a text, which is a tree in brackets."""
        return self.read({"tree": text})
