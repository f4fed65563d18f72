"""A constituency parser: a span scorer trained on trees in brackets, as the bundled one was.

    python -m experiments.span_parser TREES.jsonl -o FOLDER

Records: `tree`, with any labels, traces and function tags; nodes may have any number of children.
The flags are those of a training. `parse-trees --parser builtin --model FOLDER` uses it.

Each span of a text is a constituent of its tree, or it is not: spans are scored by differences of a
bidirectional LSTM's states. Source of the design: minimal span-based parsing, Stern et al. 2017
(https://aclanthology.org/P17-1076).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
import torch
from numpy.typing import NDArray
from structkit_plugins.parsers._span_features import (
    FEATURE_NAMES,
    SPECIAL_NAMES,
    UNKNOWN_ROW,
    VOCABULARY_FILE,
    Features,
    features,
)
from structkit_plugins.parsers._span_parser import Weights, split_text
from torch import Tensor, nn
from torch.nn import functional

from structkit.cli.main import command, prepare_libraries
from structkit.command import Command
from structkit.commands.train import train
from structkit.errors import UserError
from structkit.learning.folders import write_weights
from structkit.learning.training.data import Spool, Step
from structkit.learning.training.method import GradientSettings, RunOptions
from structkit.learning.training.trainer import TrainingModule, seed_parameters
from structkit.plugin import setting
from structkit.records.jsonl import Record, text_field
from structkit.records.stream import InputOptions
from structkit.structure.trees import brackets as trees

NAME, MODULE = "span-parser", "experiments.span_parser"
MAXIMUM = {"word": 11_000, "suffix_2": 600, "suffix_3": 3000, "shape": 100}  # rows of a table
MINIMUM = 2  # rarer features are unknown
Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
GROUP = 16  # texts that are padded to one length
# a word that occurs c times is hidden W / (W + c) of the time, to learn unknown words
WORD_DROPOUT = 0.8


@dataclass(frozen=True)
class Sizes:
    """Widths of a word's parts, the LSTM and the span layer, and dropout before all layers."""

    word: int = 72
    suffix: int = 28
    shape: int = 16
    hidden: int = 128
    layers: int = 2
    span: int = 200
    dropout: float = 0.2


class Learned(Features):  # type: ignore[misc]  # of a plugin
    """Tables of features, with how often each training word occurred."""

    def __init__(self, tables: dict[str, list[str]], counts: dict[str, int]) -> None:
        super().__init__(tables)
        self.counts = counts

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], minimum: int = MINIMUM) -> Learned:
        """Return the tables of features with `minimum` occurrences, by frequency."""
        words: Counter[str] = Counter()
        for sentence in sentences:
            words.update(sentence)
        counted = {kind: Counter[str]() for kind in FEATURE_NAMES}
        for word, count in words.items():
            for kind, name in zip(FEATURE_NAMES, features(word), strict=True):
                counted[kind][name] += count
        tables = {}
        for kind, counts in counted.items():
            kept = [name for name, count in counts.items() if count >= minimum]
            kept.sort(key=lambda name, counts=counts: (-counts[name], name))  # type: ignore[misc]
            tables[kind] = [*SPECIAL_NAMES, *kept[: MAXIMUM[kind]]]
        return cls(
            tables, {name: counted["word"][name] for name in tables["word"][len(SPECIAL_NAMES) :]}
        )

    def rarity(self, strength: float) -> NDArray[np.float32]:
        """Return the probability of hiding each row of the word table in training.

        A word that occurs c times is hidden strength / (strength + c) of the time, so that the
        unknown word is trained on rare words.
        """
        counts = [self.counts.get(name, 0) for name in self.tables["word"]]
        rare = strength / (strength + np.maximum(1, np.array(counts, np.float32)))
        rare[: len(SPECIAL_NAMES)] = 0
        return rare.astype(np.float32)


@dataclass(frozen=True)
class Method(GradientSettings):
    """Settings of the span parser, which has about 1.7 million parameters."""

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
        tree = trees.clean(trees.read_tree(text_field(record, "tree", "write trees in brackets")))
        whole = len(tree.words)
        spans = {(low, high) for low, high in tree.spans().tolist() if 1 < high - low < whole}
        return {"id": record["id"], "words": tree.words, "spans": sorted(spans)}

    def build(self, spool: Spool) -> Any:
        learned = Learned.of(record["words"] for record in spool)
        seed_parameters(self.seed)
        return SpanTraining(self, SpanScorer(learned.sizes(), self.sizes), learned)

    @classmethod
    def load(cls, folder: Path, metadata: Record) -> object:
        raise NotImplementedError  # the parser `builtin` does it


class SpanScorer(nn.Module):
    """Scores of all spans of a text; a positive one means that the words are a constituent.

    `parser.SpanScores` computes the same without torch.
    """

    def __init__(self, rows: Sequence[int], sizes: Sizes) -> None:
        super().__init__()
        columns = (sizes.word, sizes.suffix, sizes.suffix, sizes.shape)
        self.tables = nn.ModuleList(
            nn.Embedding(count, width) for count, width in zip(rows, columns, strict=True)
        )
        for weight in self.tables.parameters():
            nn.init.normal_(weight, std=0.3)
        widths = [sum(columns), *[2 * sizes.hidden] * (sizes.layers - 1)]
        # one module per layer and direction: packed sequences, which torch needs to reverse
        # padded ones, have a backward pass that grows with the square of the length
        self.forwards, self.backwards = (
            nn.ModuleList(nn.LSTM(width, sizes.hidden, batch_first=True) for width in widths)
            for _ in range(2)
        )
        self.project = nn.Linear(2 * sizes.hidden, sizes.span)
        self.score = nn.Linear(sizes.span, 1)
        self.dropout = nn.Dropout(sizes.dropout)

    def states(self, numbers: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return states (texts, words + 2, hidden) after each word, forward and backward.

        `numbers` (texts, 4, words + 2) are the rows of the words' features.
        """
        columns = [table(numbers[:, kind]) for kind, table in enumerate(self.tables)]
        states = torch.cat(columns, dim=-1)
        for ahead, back in zip(self.forwards, self.backwards, strict=True):
            states = self.dropout(states)
            forward = ahead(states)[0]
            backward = reverse(back(reverse(states, lengths))[0], lengths)
            states = torch.cat([forward, backward], dim=-1)
        forward, backward = self.dropout(states).chunk(2, dim=-1)
        return forward, backward

    def fenceposts(self, numbers: Tensor, lengths: Tensor) -> Tensor:
        """Return the places between words (texts, words + 1, span), as the span layer sees them.

        `lengths` (texts,) is the number of words of each, ends included. A span's features are a
        difference of two places: their product with the weights is made here, once per place
        instead of once per span.
        """
        forward, backward = self.states(numbers, lengths)
        places = torch.cat([forward[:, :-1], -backward[:, 1:]], dim=-1)
        return functional.linear(places, self.project.weight)

    def logits(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the scores of spans between two places (…, span) each: (…)."""
        hidden = torch.relu(right - left + self.project.bias)
        return functional.linear(hidden, self.score.weight, self.score.bias)[..., 0]

    def weights(self) -> Weights:
        """Return all weights by name."""
        return {name: each.detach().cpu().numpy() for name, each in self.state_dict().items()}


def reverse(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the states (texts, words, columns) of each text from its last word to its first.

    Padding after a text stays in place.
    """
    steps = torch.arange(states.shape[1], device=states.device)
    back = lengths[:, None] - 1 - steps
    order = torch.where(back >= 0, back, steps)[..., None]  # (texts, words, 1)
    return states.gather(1, order.expand_as(states))


def hide_words(numbers: Tensor, rarity: Tensor) -> Tensor:
    """Return the rows (texts, 4, words) with rare words replaced at random by the unknown one."""
    words = numbers[:, 0]
    hide = torch.rand(words.shape, device=words.device) < rarity[words]
    return torch.cat([words.masked_fill(hide, UNKNOWN_ROW)[:, None], numbers[:, 1:]], dim=1)


class SpanTraining(TrainingModule):
    """Binary cross-entropy over all spans of two words or more but the whole."""

    settings: GradientSettings

    # share of the spans without constituents that a step draws, weighted to count for all
    negative_share = 0.25

    def __init__(self, settings: GradientSettings, scorer: SpanScorer, features: Learned) -> None:
        super().__init__(settings)
        self.scorer, self.features = scorer, features
        rarity = torch.from_numpy(features.rarity(WORD_DROPOUT))
        self.register_buffer("rarity", rarity, persistent=False)

    def batch(self, records: list[Record], step: Step) -> Inputs:
        """Return rows (texts, 4, words + 2), lengths (texts,), and spans to learn.

        Places are numbered through the texts of the batch, as if their fenceposts were one table.
        Few spans are constituents: a share of the others is drawn, and weighted to count for all.
        """
        texts = [part for record in records for part in parts(record)]
        texts.sort(key=lambda text: len(text[0]))
        rows = [self.features.numbers(words) for words, _ in texts]
        longest = rows[-1].shape[1]
        numbers = np.zeros((len(rows), len(rows[0]), longest), np.int64)
        candidates = []  # left and right places of spans, and whether they are gold
        for text, (row, (words, spans)) in enumerate(zip(rows, texts, strict=True)):
            numbers[text, :, : row.shape[1]] = row
            left, right = _candidates(len(words))
            constituent = np.zeros((len(words) + 1, len(words) + 1), np.float32)
            if spans:
                constituent[tuple(np.array(spans).T)] = 1
            first = text * (longest - 1)
            candidates.append((left + first, right + first, constituent[left, right]))
        device = self.scorer.score.weight.device
        left_places, right_places, gold = (
            torch.from_numpy(np.concatenate(each)) for each in zip(*candidates, strict=True)
        )
        kept = (gold > 0) | (torch.rand(gold.shape) < self.negative_share)
        weight = torch.where(gold > 0, 1.0, 1 / self.negative_share)
        return (
            torch.from_numpy(numbers).to(device),
            torch.tensor([row.shape[1] for row in rows], device=device),
            left_places[kept].to(device),
            right_places[kept].to(device),
            gold[kept].to(device),
            weight[kept].to(device),
        )

    def places(self, numbers: Tensor, lengths: Tensor) -> Tensor:
        """Return the fenceposts (texts * places, span), by groups of similar lengths."""
        longest = numbers.shape[2]
        groups = []
        for rows, some in zip(
            torch.split(numbers, GROUP), torch.split(lengths, GROUP), strict=True
        ):
            width = int(some.max())
            places = self.scorer.fenceposts(rows[:, :, :width], some)
            groups.append(functional.pad(places, (0, 0, 0, longest - width)))
        return torch.cat(groups).flatten(0, 1)

    def loss(self, inputs: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the summed cross-entropy of all spans, per word."""
        numbers, lengths, left, right, gold, weight = inputs
        if self.training:
            numbers = hide_words(numbers, self.rarity)  # type: ignore[arg-type]
        places = self.places(numbers, lengths)
        logits = self.scorer.logits(places.index_select(0, left), places.index_select(0, right))
        total = functional.binary_cross_entropy_with_logits(logits, gold, weight, reduction="sum")
        return total / (lengths - 2).sum(), {}

    def save(self, folder: Path) -> None:
        """Write the weights, in 16 bits, and the vocabulary."""
        weights = self.scorer.weights().items()
        write_weights(folder, {name: each.astype(np.float16) for name, each in weights})
        special = len(SPECIAL_NAMES)
        tables = {kind: names[special:] for kind, names in self.features.tables.items()}
        (folder / VOCABULARY_FILE).write_bytes(
            orjson.dumps(tables, option=orjson.OPT_APPEND_NEWLINE)
        )

    def metadata(self) -> dict[str, Any]:
        return {"words": self.features.sizes()[0]}


def _candidates(words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first and last place of all spans of two words or more but the whole."""
    left, right = np.triu_indices(words + 1, 2)
    inner = right - left < words
    return left[inner], right[inner]


def parts(record: Record) -> list[tuple[list[str], list[tuple[int, int]]]]:
    """Return the words and spans of a record, split as parsing splits a text that is too long."""
    cut = []
    for start, end in split_text(record["words"]):
        inside = [
            (low - start, high - start)
            for low, high in record["spans"]
            if start <= low and high <= end and (low, high) != (start, end)
        ]
        cut.append((record["words"][start:end], inside))
    return cut


def learn(settings: Method, options: RunOptions, inputs: InputOptions) -> None:
    """Train a parser; its card names this program."""
    summary = train(NAME, settings, options, inputs)
    card = Path(summary["folder"], "README.md")
    again = card.read_text("utf-8").replace(f"structkit train {NAME}", f"python -m {MODULE}")
    card.write_text(again, "utf-8")
    print(orjson.dumps(summary).decode())


def main() -> None:
    """Train by the flags of the command line."""
    also, without = (RunOptions, InputOptions), Method.idle_options()
    declared = Command(learn, Method, learn, also=also, without=without, name=NAME, about=__doc__)
    prepare_libraries()
    try:
        command(declared)(standalone_mode=False)
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
