"""What the methods over the nodes of trees have in common: training, and encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from structkit.errors import UserError
from structkit.learning.strae.batches import (
    Sentence,
    Sentences,
    TreeBatch,
    portions,
    tree_of,
)
from structkit.learning.strae.model import NodeModel, StrAE
from structkit.learning.strae.settings import NodeSettings
from structkit.learning.strae.training import StraeTraining
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.module import seed_parameters
from structkit.learning.training.spool import Spool
from structkit.learning.training.weights import fill
from structkit.plugin import setting
from structkit.records.jsonl import Record
from structkit.structure.trees.tree import Tree


@dataclass(frozen=True)
class NodeMethod(NodeSettings):
    """How such a method is trained, and its model read again; a subclass knows the model."""

    made_of: ClassVar[tuple[str, ...]] = ("embedding_size", "objective", "head")

    @property
    def untied(self) -> bool:
        """Whether words are scored with a table of their own."""
        return self.head == "untied" and self.objective != "contrastive"

    def untrained(self, words: int) -> NodeModel:
        """A model with random parameters: the seed's."""
        raise NotImplementedError

    def build(self, spool: Spool, *, offline: bool = False) -> StraeTraining:
        vocabulary, sentences = self.corpus(spool)
        return StraeTraining(self, self.untrained(len(vocabulary)), vocabulary, sentences)

    @classmethod
    def load(cls, folder: Path, facts: Record) -> TreeEncoder:
        vocabulary = Vocabulary.load(folder)
        settings = cls.of(facts["settings"])
        model = settings.untrained(len(vocabulary))
        fill(model, folder)
        return TreeEncoder(settings, model, vocabulary)


@dataclass(frozen=True)
class StraeSettings(NodeMethod):
    """Settings of StrAE; a square embedding has as many channels as columns."""

    made_of: ClassVar[tuple[str, ...]] = (*NodeMethod.made_of, "channels")

    channels: int = setting(
        10, "rows of an embedding; composition sees one", "StrAE, section 2", low=1, high=100_000
    )
    composition_init: str = setting(
        "uniform",
        "composition starts at random, as the released code has it, or as a scaled sum",
        "",
        ("uniform", "sum"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding_size % self.channels:
            raise UserError(
                f"--embedding-size {self.embedding_size} is not a multiple of --channels "
                f"{self.channels}",
                "name another one of them",
                status=2,
            )

    def untrained(self, words: int) -> StrAE:
        seed_parameters(self.seed)
        return StrAE(
            words,
            self.embedding_size,
            self.channels,
            self.init_range,
            untied=self.untied,
            summing=self.composition_init == "sum",
        )


class TreeEncoder(nn.Module):
    """A trained StrAE for `encode` and for trees: a text's embedding is its root's, upward.

    Texts are trees in brackets; where the model induces trees, plain texts too.
    """

    def __init__(self, settings: NodeMethod, model: NodeModel, vocabulary: Vocabulary) -> None:
        super().__init__()
        # a long text is no error here
        self.settings = replace(settings, max_length=None)
        self.model, self.vocabulary = model, vocabulary
        self.truncation = vocabulary.found

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.model.embedding.device

    def inputs(self, texts: Sequence[str], side: str = "document") -> list[Sentence]:
        """Texts as numbers; `len()` of one is its number of leaves."""
        settings = self.settings
        records = (settings.prepare({"id": "", **settings.read(text)}) for text in texts)
        return list(
            Sentences(
                settings.numbers(self.vocabulary.ids(record["words"]), record) for record in records
            )
        )

    def batch(self, inputs: Sequence[Sentence]) -> Sequence[Sentence]:
        """Some inputs, as `embed` takes them: trees are laid out there."""
        return inputs

    def embed(self, batch: Sequence[Sentence]) -> Tensor:
        """The upward embeddings of the roots, (texts, E)."""
        return self.both_ways(batch)[1][: len(batch)]

    def trees(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees that the model induces over words, or over their pieces."""
        numbers = [self.settings.numbers(self.vocabulary.ids(words), {}) for words in sentences]
        inputs = Sentences(numbers)
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]))
        trees: dict[int, Tree] = {}
        for some in portions([inputs[place] for place in order], self.settings.batch_tokens):
            for sentence in self.model.induced(some):
                place = order[len(trees)]
                leaves = self.vocabulary.surfaces(sentences[place])
                trees[place] = tree_of(leaves, sentence.depths.tolist())
        return [trees[place] for place in range(len(inputs))]

    def both_ways(self, sentences: Sequence[Sentence]) -> tuple[TreeBatch, Tensor, Tensor]:
        """The trees, and the upward and downward embeddings of all nodes, (nodes, E) each."""
        return self.model.both_ways(sentences, induce=self.settings.induce)
