"""A constituency parser: a span scorer trained on your own trees in brackets.

Records: `tree`, with any labels, traces and function tags; nodes may have any number of children.
`parse-trees --parser builtin --model FOLDER` uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from structkit.learning.span_parser.features import Features, Sizes
from structkit.learning.training.settings import GradientSettings
from structkit.learning.training.spool import Spool
from structkit.plugin import setting
from structkit.records.jsonl import Record, text_field
from structkit.structure.trees import brackets as trees

if TYPE_CHECKING:
    from structkit.learning.span_parser.parser import SpanParser
    from structkit.learning.span_parser.training import SpanTraining

SIZE = 100_000  # dimensions of any vector


@dataclass(frozen=True)
class Method(GradientSettings):
    """Settings of the span parser; with the defaults it has about 1.7 million parameters."""

    example: ClassVar[str] = "structkit train span-parser trees.jsonl -o models/span-parser"
    records: ClassVar[str] = "`tree`, in brackets"
    needs: ClassVar[tuple[str, ...]] = ("tree",)
    optional: ClassVar[tuple[str, ...]] = ()
    query_fields: ClassVar[tuple[str, ...]] = ("text",)
    document_fields: ClassVar[tuple[str, ...]] = ("text",)
    made_of: ClassVar[tuple[str, ...]] = (
        *("word_size", "suffix_size", "shape_size", "hidden_size", "layers", "span_size"),
    )

    weight_decay: float = setting(0.0, "weight decay of AdamW", low=0.0, high=1.0, group="schedule")
    vocabulary_size: int = setting(
        11_000, "most words with their own embedding", low=400, high=1_000_000, group="model"
    )
    minimum_count: int = setting(
        2,
        "rarer words are unknown, as are rarer suffixes and shapes",
        low=1,
        high=10**9,
        group="model",
    )
    word_size: int = setting(
        72, "dimensions of the embedding of a word", low=1, high=SIZE, group="model"
    )
    suffix_size: int = setting(
        28,
        "dimensions of that of its last two letters, and of its last three",
        low=1,
        high=SIZE,
        group="model",
    )
    shape_size: int = setting(
        16, "dimensions of that of its capitals and digits", low=1, high=SIZE, group="model"
    )
    hidden_size: int = setting(
        128, "dimensions of the LSTM in each direction", low=1, high=SIZE, group="model"
    )
    layers: int = setting(2, "layers of the LSTM", low=1, high=100, group="model")
    span_size: int = setting(200, "hidden dimensions of a span", low=1, high=SIZE, group="model")
    dropout: float = setting(
        0.2, "dropout on embeddings, states and spans", low=0.0, high=0.99, group="model"
    )
    word_dropout: float = setting(
        0.8,
        "W: a word that occurs c times is hidden W / (W + c) of the time, to learn unknown words",
        low=0.0,
        high=1e6,
        group="model",
    )
    negative_share: float = setting(
        0.25,
        "share of the spans that are not constituents that a step draws, to stand for all",
        low=1e-6,
        high=1.0,
        group="loss",
    )
    epochs: int = setting(4, "passes over the records")
    learning_rate: float = setting(3e-3, "highest learning rate of Adam")
    warmup: float = setting(0.02, "share of the steps over which the learning rate rises")
    max_grad_norm: float = setting(5.0, "scale gradients down to this norm; 0: never")

    @property
    def sizes(self) -> Sizes:
        """The sizes of the model."""
        return Sizes(
            self.word_size,
            self.suffix_size,
            self.shape_size,
            self.hidden_size,
            self.layers,
            self.span_size,
        )

    def prepare(self, record: Record) -> Record:
        """The words of a record's tree, and its spans of two words or more except the whole.

        Sentences side by side under one ROOT stay one text, and each is a span.
        """
        tree = trees.clean(trees.read(text_field(record, "tree", "write trees in brackets")))
        whole = len(tree.words)
        spans = {(low, high) for low, high in tree.spans().tolist() if 1 < high - low < whole}
        return {"id": record["id"], "words": tree.words, "spans": sorted(spans)}

    def build(self, spool: Spool, *, offline: bool = False) -> SpanTraining:
        from structkit.learning.span_parser.scorer import SpanScorer
        from structkit.learning.span_parser.training import SpanTraining
        from structkit.learning.training.module import seed_parameters

        words = (spool[place]["words"] for place in range(len(spool)))
        features = Features.of(words, self.vocabulary_size, self.minimum_count)
        seed_parameters(self.seed)
        scorer = SpanScorer(features.sizes(), self.sizes, self.dropout)
        shares = self.word_dropout, self.negative_share
        return SpanTraining(self, scorer, features, *shares, weight_decay=self.weight_decay)

    @classmethod
    def load(cls, folder: Path, facts: Record) -> SpanParser:
        from structkit.learning.span_parser.parser import SpanParser

        return SpanParser.load(folder, cls.of(facts["settings"]).sizes)
