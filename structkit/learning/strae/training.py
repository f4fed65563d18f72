"""Training and encoding with a vocabulary, in portions of bounded size; the objectives of StrAE.

Tests: tests/learning/strae/test_strae_training.py, tests/learning/strae/test_nodes.py.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import orjson
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import normalize

from structkit.embeddings.reading import MATRIX_ENDINGS, read_embeddings
from structkit.embeddings.vectors import IntArray, Vectors
from structkit.errors import UserError, flag, wrong_usage
from structkit.learning.static import static_word_vectors
from structkit.learning.strae.batches import TreeBatch
from structkit.learning.strae.losses import MIN_LENGTH, contrastive_loss
from structkit.learning.strae.sentences import Sentence, expand_subwords, portions
from structkit.learning.strae.settings import (
    PAIR_FIELDS,
    PAIRS_OBJECTIVE,
    ROOT_POOLING,
    TREE_POOLINGS,
    NodeSettings,
    TreeSettings,
    VocabularySettings,
)
from structkit.learning.strae.vocabulary import Vocabulary
from structkit.learning.training.autograd import draw_kept, vocabulary_loss
from structkit.learning.training.data import Step
from structkit.learning.training.devices import TorchModel, load_state, save_state
from structkit.learning.training.trainer import (
    LossParts,
    LossReader,
    TrainingModule,
    seed_parameters,
)
from structkit.progress import say
from structkit.records.jsonl import Lines, Record
from structkit.structure.trees.tree import Tree, from_depths

INIT_RANGE = 0.1  # embeddings start between -0.1 and 0.1 (StrAE, appendix A)
VECTORS_REMEDY = "write a word and its numbers per line, or train a table on the records"

BothWays = tuple[TreeBatch, Tensor, Tensor]


class VocabularyModel(nn.Module):
    """Table of embeddings and a subclass's model over it; random, by the settings' seed."""

    make_training: ClassVar[Callable[..., VocabularyTraining]]
    encoder_class: ClassVar[type[VocabularyEncoder]]  # how `encode` reads it

    def __init__(self, words: int, settings: VocabularySettings) -> None:
        super().__init__()
        seed_parameters(settings.seed)
        # (words, E), or more rows for special tokens
        self.embedding = self.table(words, settings.embedding_size)

    def table(self, words: int, size: int) -> nn.Parameter:
        """Return embeddings (words, size) as they start."""
        return nn.Parameter(torch.empty(words, size).uniform_(-INIT_RANGE, INIT_RANGE))


class VocabularyTraining(TrainingModule):
    """Training of a model over a vocabulary."""

    settings: VocabularySettings

    def __init__(self, settings: VocabularySettings, model: Any, vocabulary: Vocabulary) -> None:
        super().__init__(settings)
        self.model, self.vocabulary = model, vocabulary
        self.truncation = deepcopy(vocabulary.coverage)  # each record once, whatever the epochs

    def batch(self, records: list[Record], step: Step) -> Any:
        texts = self.settings.texts(records)
        return self.in_portions(self.settings.numbers(self.vocabulary, texts))

    def in_portions(self, sentences: list[Sentence]) -> Any:
        """Split a batch into portions that fit in memory."""
        return portions(sentences, self.settings.batch_tokens)

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def save(self, folder: Path) -> None:
        save_state(self.model, folder)
        self.vocabulary.save(folder)


class VocabularyEncoder(TorchModel):
    """A trained model over a vocabulary, for `encode`."""

    settings: VocabularySettings

    def __init__(self, settings: VocabularySettings, model: Any, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.settings, self.model, self.vocabulary = settings, model, vocabulary
        self.truncation = vocabulary.coverage

    def read(self, folder: Path, metadata: Record) -> Self:
        """Take the weights in a folder. Errors: `UserError` where it is damaged."""
        load_state(self.model, folder)
        return self

    def prepared(self, text: str) -> Record:
        return self.settings.prepared(text)


class NodeModel(VocabularyModel):
    """A model whose nodes have an upward and a downward embedding."""

    # dropout of embeddings, compositions and decompositions (StrAE, appendix A)
    dropouts: tuple[float, float] = (0.2, 0.1)
    head: nn.Linear | None  # scores words, unless their embeddings do

    def __init__(self, words: int, settings: TreeSettings) -> None:
        super().__init__(words, settings)
        self.embedding.data *= settings.init_range / INIT_RANGE

    def both_ways(self, sentences: Sequence[Sentence]) -> BothWays:
        """Return trees, and all upward and downward embeddings, (nodes, E) each.

        The model makes trees that the sentences lack. Dropout is for training only.
        """
        raise NotImplementedError

    def roots(self, sentences: Sequence[Sentence]) -> Tensor:
        """Return the upward embeddings of whole sentences, (sentences, E)."""
        return self.both_ways(sentences)[1][: len(sentences)]

    def pooled(self, texts: Sequence[Sentence], pooling: str) -> Tensor:
        """Return the roots of texts, or the means of their words, (texts, E)."""
        if pooling == ROOT_POOLING:
            return self.roots(texts)
        words = self.embed_text(texts)  # (words, E)
        if (noise := self.noise(words.shape, 0)) is not None:
            words = words * noise
        lengths = torch.tensor([len(text) for text in texts], device=words.device)
        return torch.segment_reduce(words, "mean", lengths=lengths)

    def make_trees(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with the trees that the model makes itself."""
        raise NotImplementedError

    def noise(self, shape: Sequence[int], which: int) -> Tensor | None:
        """Return factors that drop a share of numbers and scale the others; or None.

        The share is the one of `dropouts` with this number.
        """
        if not (self.training and self.dropouts[which]):
            return None
        kept, factor = draw_kept(shape, self.dropouts[which], self.embedding.device)
        return kept.to(self.embedding.dtype).mul_(factor)

    def embed_text(self, sentences: Sequence[Sentence]) -> Tensor:
        """Return the embeddings of all leaves in the order of the text, (leaves, E)."""
        text = torch.from_numpy(np.concatenate([sentence.ids for sentence in sentences]))
        return functional.embedding(text.to(self.embedding.device), self.embedding)


class TreeEncoder(VocabularyEncoder):
    """A trained StrAE for `encode` and for trees: a text's embedding is its root's, upward.

    Texts are trees in brackets; where the model induces trees, plain texts too.
    """

    parts = ("nodes",)

    settings: TreeSettings
    model: NodeModel
    pooling: str = ROOT_POOLING

    def read(self, folder: Path, metadata: Record) -> Self:
        if metadata["pooling"] not in TREE_POOLINGS:
            raise wrong_usage(
                f"a tree model has no pooling {metadata['pooling']}",
                f"use {flag('pooling', 'mean')} for the mean of words, or none for the root",
            )
        self.pooling = metadata["pooling"]
        return super().read(folder, metadata)

    def inputs(self, texts: Sequence[str], side: str = "document") -> list[Sentence]:
        """Return texts as numbers; `len()` of one is its number of leaves."""
        return self.settings.numbers(self.vocabulary, map(self.prepared, texts))

    def batch(self, inputs: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return some inputs, as `embed` takes them: trees are laid out there."""
        return inputs

    def embed(self, batch: Sequence[Sentence]) -> Tensor:
        return self.model.pooled(batch, self.pooling)

    def trees(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """Return the trees that the model induces over words, or over their subwords."""
        settings, vocabulary = self.settings, self.vocabulary
        records = ({"words": settings.drop_final_punct(words)} for words in sentences)
        inputs = settings.numbers(vocabulary, records)
        order = sorted(range(len(inputs)), key=lambda place: len(inputs[place]))
        trees: dict[int, Tree] = {}
        for portion in portions([inputs[place] for place in order], settings.batch_tokens):
            for sentence in self.model.make_trees(portion):
                place = order[len(trees)]
                leaves = vocabulary.surfaces(sentences[place])
                # words that were not read are attached to the root
                unread = range(len(leaves) - len(sentence))
                depths = [depth + len(unread) for depth in sentence.depths.tolist()]
                depths += [len(unread) - number for number in unread]
                trees[place] = from_depths(leaves, depths)
        return [trees[place] for place in range(len(inputs))]

    def nodes(
        self,
        records: Sequence[Record],
        which: str,
        batch_tokens: int,
        *,
        finish: Callable[[Vectors], Vectors] = lambda vectors: vectors,
    ) -> Iterator[list[Record]]:
        """Yield the nodes of each text, in its order.

        They are numbered breadth first from the root, 0; spans are half-open, in words; phrases
        have two words or more, including the whole text; `embedding` is the upward one.
        """
        for part in portions([self._leaves(record) for record in records], batch_tokens):
            with torch.inference_mode():
                batch, up, _ = self.model.both_ways([leaves.sentence for leaves in part])
            vectors = finish(up.float().cpu().numpy())
            owners = batch.sentence.cpu().numpy()
            starts = batch.start - np.cumsum([0, *batch.lengths[:-1]])[owners]
            spans = np.stack([starts, starts + batch.width], 1).tolist()
            order = np.argsort(owners, kind="stable")  # each text's nodes, breadth first
            ends = np.searchsorted(owners[order], np.arange(1, len(part)))
            for leaves, rows in zip(part, np.split(order, ends), strict=True):
                chosen = []
                for number, row in enumerate(rows.tolist()):
                    first, last, text, kind = leaves.node(*spans[row])
                    if which in ("nodes", kind):
                        node = {"node": number, "span": [first, last], "text": text}
                        chosen.append(node | {"embedding": vectors[row]})
                self.vocabulary.coverage.without[which] += not chosen
                yield chosen

    def _leaves(self, record: Record) -> Leaves:
        """Return the leaves of a prepared text."""
        ids = self.vocabulary.ids(record["words"])
        pieces = [self.vocabulary.text(number) for word in ids for number in word]
        sentence = expand_subwords(ids, record.get("depths", ()))
        return Leaves(list(record["words"]), np.cumsum([0, *map(len, ids)]), pieces, sentence)


@dataclass(frozen=True)
class Leaves:
    """Words of a text, and where they begin and end, in leaves: a word is one, or its subwords."""

    words: list[str]
    ends: IntArray  # (words + 1,)
    pieces: list[str]
    sentence: Sentence

    def __len__(self) -> int:
        return len(self.sentence)

    def node(self, start: int, end: int) -> tuple[int, int, str, str]:
        """Return the node over leaves `start` to `end`: span in words, text, and kind.

        A node over part of a word, in trees of subwords, is neither a word nor a phrase: its span
        covers the words that it touches, its text is its subwords.

        >>> leaves = Leaves(["The", "cats"], np.array([0, 1, 3]), ["the", "cat", "s"], None)
        >>> leaves.node(0, 3), leaves.node(1, 3), leaves.node(2, 3)
        ((0, 2, 'The cats', 'phrases'), (1, 2, 'cats', 'words'), (1, 2, 's', 'pieces'))
        """
        ends = self.ends
        first = int(np.searchsorted(ends, start, side="right")) - 1
        last = int(np.searchsorted(ends, end))
        if ends[first] != start or ends[last] != end:
            return first, last, "".join(self.pieces[start:end]), "pieces"
        kind = "words" if last - first == 1 else "phrases"
        return first, last, " ".join(self.words[first:last]), kind


class TreeTraining(VocabularyTraining):
    """Training on given trees, or on those that the model makes itself."""

    settings: TreeSettings
    model: NodeModel

    def __init__(self, settings: TreeSettings, model: NodeModel, vocabulary: Vocabulary) -> None:
        super().__init__(settings, model, vocabulary)
        model.embedding.requires_grad_(not settings.freeze_embeddings)
        if path := settings.init_embeddings:
            fill_from_vectors(model.embedding, path, vocabulary.words)

    def losses(self, portion: list[Any]) -> LossParts:
        """Return the parts of the objective, each a mean over one portion."""
        raise NotImplementedError

    def counts(self, portion: list[Any]) -> dict[str, int]:
        """Return the number of terms in the mean of each part of the objective."""
        raise NotImplementedError

    def shared_losses(self, inputs: list[list[Any]]) -> Iterator[LossParts]:
        """Yield the parts of the objective, portion by portion; they sum up to the batch's."""
        counts = [self.counts(portion) for portion in inputs]
        for portion, count in zip(inputs, counts, strict=True):
            yield {
                name: part
                * (count[name] / max(1, sum(portion_counts[name] for portion_counts in counts)))
                for name, part in self.losses(portion).items()
            }

    def backward(self, inputs: list[list[Any]]) -> LossReader:
        """Compute gradients portion by portion, so that one graph is in memory."""
        losses: list[LossParts] = []
        for parts in self.shared_losses(inputs):
            self.pass_back(torch.stack(list(parts.values())).mean())
            losses.append({name: part.detach() for name, part in parts.items()})

        def read() -> dict[str, float]:
            sums: Counter[str] = Counter()
            for parts in losses:
                sums.update({name: part.item() for name, part in parts.items()})
            return {"loss": sum(sums.values()) / len(sums), **(sums if len(sums) > 1 else {})}

        return read

    def metadata(self) -> Record:
        return {"pooling": "root", "words": len(self.vocabulary)}


class StraeTraining(TreeTraining):
    """Training with StrAE's objectives."""

    settings: NodeSettings

    def losses(self, sentences: list[Sentence]) -> LossParts:
        batch, up, down = self.model.both_ways(sentences)
        parts = {}
        if self.settings.objective != "ce":
            parts["contrastive"] = self.contrastive(batch, up, down)
        if self.settings.objective != "contrastive":
            parts["ce"] = self.cross_entropy(batch, down)
        return parts

    def contrastive(self, batch: TreeBatch, up: Tensor, down: Tensor) -> Tensor:
        """Return equation 2 over all nodes, or over inner ones if leaves have a loss."""
        same = batch.same if self.settings.mask_duplicates else None
        chosen = batch.inner if self.settings.objective == "both" else batch.in_trees
        if chosen is not None:
            up, down = up[chosen], down[chosen]
            same = None if same is None else same[chosen]
        if not len(up):
            return up.sum()  # no sentence has two words: nothing to contrast
        return contrastive_loss(up, down, 1 / self.settings.temperature, same)

    def cross_entropy(self, batch: TreeBatch, down: Tensor) -> Tensor:
        """Return equation 1 over the leaves."""
        head = self.model.head
        table: Tensor = self.model.embedding if head is None else head.weight
        bias: Tensor | None = None if head is None else head.bias
        lengths = torch.from_numpy(batch.lengths).to(down)  # (sentences,)
        if self.settings.ce_mean == "sentence":
            weights = 1 / (batch.sentences * lengths[batch.sentence[batch.leaves]])  # (leaves,)
        else:
            weights = torch.full_like(batch.ids, 1 / len(batch.ids), dtype=down.dtype)
        return vocabulary_loss(down[batch.leaves], table, bias, batch.ids, weights)

    def counts(self, sentences: list[Sentence]) -> dict[str, int]:
        lengths = [len(sentence) for sentence in sentences]
        inner, leaves = sum(lengths) - len(lengths), sum(lengths)
        single = lengths.count(1)
        return {
            "contrastive": inner if self.settings.objective == "both" else inner + leaves - single,
            "ce": len(lengths) if self.settings.ce_mean == "sentence" else leaves,
        }


@dataclass(frozen=True)
class Pair:
    """Two texts that belong together."""

    query: Sentence
    positive: Sentence

    def __len__(self) -> int:
        return len(self.query) + len(self.positive)


class PairTraining(TreeTraining):
    """Training on pairs: the pairs of a portion are each other's negatives, in both directions."""

    settings: NodeSettings

    def in_portions(self, sentences: list[Sentence]) -> Any:
        """Split a batch, a query and its positive in turn, into portions of pairs."""
        pairs = [Pair(*both) for both in zip(sentences[::2], sentences[1::2], strict=True)]
        return portions(pairs, self.settings.batch_tokens)

    def losses(self, pairs: list[Pair]) -> LossParts:
        """Return the loss of equation 2 with queries and positives instead of nodes."""
        texts = [pair.query for pair in pairs] + [pair.positive for pair in pairs]
        # (pairs, E) each
        queries, positives = self.model.pooled(texts, self.settings.pooling).chunk(2)
        same = group_pairs(pairs).to(self.device) if self.settings.mask_duplicates else None
        return {"pairs": contrastive_loss(queries, positives, 1 / self.settings.temperature, same)}

    def texts_to_rank(self, record: Record) -> tuple[Hashable, list[Hashable]]:
        query, positive = map(orjson.dumps, record["texts"])
        return query, [positive]

    def text_embeddings(self, texts: Sequence[Any], side: str) -> Tensor:
        sentences = self.settings.numbers(self.vocabulary, map(orjson.loads, texts))
        parts = portions(sentences, self.settings.batch_tokens)
        embeddings = [self.model.pooled(part, self.settings.pooling) for part in parts]
        return normalize(torch.cat(embeddings), eps=MIN_LENGTH)

    def counts(self, pairs: list[Pair]) -> dict[str, int]:
        """Return the number of pairs."""
        return {"pairs": len(pairs)}

    def metadata(self) -> Record:
        return super().metadata() | {"pooling": self.settings.pooling}


def group_pairs(pairs: Sequence[Pair]) -> Tensor:
    """Return a number for every pair, equal for pairs with the same query or positive, (pairs,).

    >>> one, other = (Sentence(np.array([word], np.int32), None) for word in (1, 2))
    >>> group_pairs([Pair(one, other), Pair(other, one), Pair(other, other)]).tolist()
    [0, 0, 0]
    """
    numbers = np.arange(len(pairs))
    for side in PAIR_FIELDS:
        first: dict[bytes, int] = {}
        for place, pair in enumerate(pairs):
            earliest = first.setdefault(getattr(pair, side).ids.tobytes(), place)
            numbers[numbers == numbers[place]] = numbers[earliest]
    return torch.from_numpy(numbers)


def strae_training(settings: NodeSettings, *others: Any) -> TreeTraining:
    """Return the training for a method's objective: on pairs, or on the nodes of each text."""
    training = PairTraining if settings.objective == PAIRS_OBJECTIVE else StraeTraining
    return training(settings, *others)


def fill_from_vectors(embedding: nn.Parameter, path: str, words: Sequence[str]) -> None:
    """Give embeddings (words, E) the vectors of a file; words that it lacks stay, and are counted.

    Errors: `UserError` for vectors of another size.
    """
    vectors_by_place = word_vectors(path, words)
    vectors = np.stack([*vectors_by_place.values()])
    size = embedding.shape[1]
    if vectors.shape[1] != size:
        raise UserError(
            f"{path} has vectors of {vectors.shape[1]} numbers, but embeddings have {size}",
            f"use {flag('embedding_size', vectors.shape[1])}",
        )
    embedding.data[[*vectors_by_place]] = torch.from_numpy(vectors)
    if missing := len(words) - len(vectors_by_place):
        say(f"{missing:,} of {len(words):,} words are not in {path} and start at random")


def word_vectors(path: str, words: Sequence[str]) -> dict[int, Vectors]:
    """Return the vectors of a file by the places of their words.

    A file is `NAME.npy` with its words in `NAME.ids.txt`, Parquet or JSONL, as `encode` writes
    them; any other is text as written by GloVe, word2vec and fastText; a folder holds a table of
    token vectors. Errors: `UserError` for a file in another format, or without any of the words.
    """
    places = {word: place for place, word in enumerate(words)}
    if os.path.isdir(path):  # unlike Path.is_dir, false for an impossible name
        vectors_by_place = static_word_vectors(Path(path), words)
        vectors_by_place.pop(0, None)  # the name of the unknown word is no word
    elif path.endswith((*MATRIX_ENDINGS, ".jsonl", ".jsonl.gz")):
        embeddings = read_embeddings([path])
        rows = [row for row, word in enumerate(embeddings.ids) if word in places]
        vectors = embeddings.vectors[np.array(rows, np.int64)]
        vectors_by_place = dict(
            zip((places[embeddings.ids[row]] for row in rows), vectors, strict=True)
        )
    else:
        vectors_by_place = _text_vectors(path, places)
    if not vectors_by_place:
        raise UserError("has none of the words of the records", VECTORS_REMEDY).at(path)
    return vectors_by_place


def _text_vectors(path: str, places: dict[str, int]) -> dict[int, Vectors]:
    vectors_by_place: dict[int, Vectors] = {}
    size = 0
    for number, line in enumerate(Lines([path]), 1):
        word, *numbers = line.decode("utf-8", "replace").rstrip().split(" ")
        place = places.get(word, -1)
        # word2vec's first line has the number of words and of dimensions
        if place < 0 or place in vectors_by_place or (number == 1 and len(numbers) < 2):
            continue
        size = size or len(numbers)
        try:
            vector = np.array(numbers, np.float32)
        except ValueError:
            vector = np.empty(0, np.float32)
        if not 0 < len(vector) == size or not np.isfinite(vector).all():
            raise UserError(f"is not a vector of {size or 'finite'} numbers", VECTORS_REMEDY).at(
                f"{path}:{number}"
            )
        vectors_by_place[place] = vector
    return vectors_by_place
