"""A constituency parser: a span scorer trained on your own trees in brackets.

Records: `tree`, with any labels, traces and function tags; nodes may have any number of children.
`parse-trees --parser builtin --model FOLDER` uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from structkit.learning.span_parser.features import Features, Sizes
from structkit.learning.training.data import Spool
from structkit.learning.training.method import GradientSettings
from structkit.plugin import setting
from structkit.records.jsonl import Record, text_field
from structkit.structure.trees import brackets as trees


@dataclass(frozen=True)
class Method(GradientSettings):
    """Settings of the span parser, which has about 1.7 million parameters."""

    example: ClassVar[str] = "structkit train span-parser trees.jsonl -o models/span-parser"
    usage: ClassVar[str] = "parse-trees texts.jsonl -m {} -o out.jsonl"
    records: ClassVar[str] = "`tree`, in brackets"
    needs: ClassVar[tuple[str, ...]] = ("tree",)
    optional: ClassVar[tuple[str, ...]] = ()
    query_fields: ClassVar[tuple[str, ...]] = ("text",)
    document_fields: ClassVar[tuple[str, ...]] = ("text",)

    sizes: ClassVar[Sizes] = Sizes()

    epochs: int = setting(4)
    learning_rate: float = setting(3e-3)
    warmup: float = setting(0.02)
    max_grad_norm: float = setting(5.0)

    def prepare(self, record: Record) -> Record:
        """Return the words of a record's tree, and its spans of two words or more.

        Sentences side by side under one ROOT stay one text, and each is a span.
        """
        tree = trees.clean(trees.read(text_field(record, "tree", "write trees in brackets")))
        whole = len(tree.words)
        spans = {(low, high) for low, high in tree.spans().tolist() if 1 < high - low < whole}
        return {"id": record["id"], "words": tree.words, "spans": sorted(spans)}

    def build(self, spool: Spool) -> Any:
        from structkit.learning.span_parser.training import SpanScorer, SpanTraining
        from structkit.learning.training.trainer import seed_parameters

        features = Features.of(record["words"] for record in spool)
        seed_parameters(self.seed)
        return SpanTraining(self, SpanScorer(features.sizes(), self.sizes), features)

    @classmethod
    def load(cls, folder: Path, metadata: Record) -> Any:
        from structkit.learning.span_parser.parser import SpanParser

        return SpanParser.load(folder)
