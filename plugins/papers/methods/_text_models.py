"""Bi-LSTM and RoBERTa, the models without trees with which StrAE is compared, and their training.

Source: Opper et al. 2023, "StrAE", section 5, appendix A and table 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from structkit.learning.strae.sentences import Sentence, portions
from structkit.learning.strae.settings import VocabularySettings
from structkit.learning.strae.training import (
    VocabularyEncoder,
    VocabularyModel,
    VocabularyTraining,
)
from structkit.learning.training.autograd import vocabulary_loss
from structkit.learning.training.trainer import LossReader
from structkit.structure.trees.tree import Ints

MASKED_SHARE = 0.15  # share of tokens that RoBERTa predicts (Liu et al. 2019, section 2.2)
MAX_DISTANCE = 512  # tokens as far apart, or farther, share an embedding with those one nearer

# vectors (tokens, E), their ids (tokens,), and the head's bias
Predictions = tuple[Tensor, Tensor, Tensor | None]


@dataclass(frozen=True)
class TextBatch:
    """Padded texts: ids (texts, length), how many are real, and which texts are one word."""

    ids: Tensor
    lengths: Tensor  # (texts,)
    word: Tensor  # (texts,) bool

    @property
    def real(self) -> Tensor:
        """Which ids are not padding, (texts, length)."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]


@dataclass(frozen=True)
class TextIds:
    """Ids of a text, and whether they are subwords of one word."""

    ids: Ints
    word: bool = False

    def __len__(self) -> int:
        return len(self.ids)


def pad(texts: Sequence[TextIds], device: torch.device) -> TextBatch:
    """Return texts as one batch, as wide as its longest."""
    lengths = torch.tensor([len(text) for text in texts])
    ids = pad_sequence([torch.from_numpy(text.ids).long() for text in texts], batch_first=True)
    word = torch.tensor([text.word for text in texts])
    return TextBatch(ids.to(device), lengths.to(device), word.to(device))


class TextTraining(VocabularyTraining):
    """Prediction of the tokens that the model chooses, over the vocabulary, by its own table."""

    model: TextModel

    def in_portions(self, sentences: list[Sentence]) -> list[TextBatch]:
        """Split a batch into portions, sorted by length, so that there is little padding."""
        texts = sorted((TextIds(sentence.ids) for sentence in sentences), key=len)
        size = self.settings.batch_tokens
        return [pad(portion, self.device) for portion in portions(texts, size)]

    def backward(self, inputs: list[TextBatch]) -> LossReader:
        """Compute gradients portion by portion, of the mean over all tokens."""
        table = self.model.embedding[: len(self.vocabulary)]
        losses, tokens = list[Tensor](), 0
        for portion in inputs:
            vectors, ids, bias = self.model.predictions(portion)
            weights = torch.ones_like(ids, dtype=vectors.dtype)
            summed = vocabulary_loss(vectors, table, bias, ids, weights)
            self.pass_back(summed)
            losses.append(summed.detach())
            tokens += len(ids)
        for weight in self.parameters():
            if weight.grad is not None:
                weight.grad /= tokens
        return lambda: {"loss": sum(loss.item() for loss in losses) / tokens}

    def metadata(self) -> dict[str, Any]:
        return {"normalize": False, "words": len(self.vocabulary)}


class TextEncoder(VocabularyEncoder):
    """A trained model for `encode`."""

    model: TextModel

    def inputs(self, texts: Sequence[str], side: str = "document") -> list[TextIds]:
        """Return texts, or the leaves of trees, as numbers."""
        numbered = []
        for text in texts:
            words = self.vocabulary.ids(self.prepared(text)["words"])
            ids = np.array([number for word in words for number in word], np.int32)
            numbered.append(TextIds(ids, word=len(words) == 1))
        return numbered

    def batch(self, inputs: Sequence[TextIds]) -> TextBatch:
        return pad(inputs, self.device)

    def embed(self, batch: TextBatch) -> Tensor:
        return self.model.embed(batch)


class TextModel(VocabularyModel):
    """A table of embeddings, and states that a subclass makes from them."""

    make_training = TextTraining
    encoder_class = TextEncoder

    def predictions(self, batch: TextBatch) -> Predictions:
        """Return the predictions of a batch."""
        raise NotImplementedError

    def embed(self, batch: TextBatch) -> Tensor:
        """Return the embeddings of texts, (texts, E).

        A text of one id is that id's row of the table: there is no context (StrAE, section 5).
        """
        in_context = self.texts(batch)
        rows = functional.embedding(batch.ids[:, 0], self.embedding)
        return torch.where((batch.lengths == 1)[:, None], rows, in_context)

    def texts(self, batch: TextBatch) -> Tensor:
        """Return the embeddings of texts of any length, (texts, E)."""
        raise NotImplementedError


class BiLSTM(TextModel):
    """LSTM in both directions; linear maps, one for each, make E numbers from both last states.

    The paper does not name the objective; here each token is predicted from the state before it and
    the state after it, by the same map. Without the embeddings 2 · 4 · (2E² + 2E) + 2 (E² + E)
    parameters: 181,800 at E = 100, as published.
    """

    dropout = 0.2  # on embeddings and on the inputs of predictions (StrAE, appendix A)

    def __init__(self, words: int, settings: VocabularySettings) -> None:
        super().__init__(words, settings)
        size = settings.embedding_size
        self.lstm = nn.LSTM(size, size, batch_first=True, bidirectional=True)
        self.before, self.after = nn.Linear(size, size), nn.Linear(size, size)

    def states(self, batch: TextBatch) -> tuple[Tensor, Tensor]:
        """Return states forward and backward, (texts, length, E); 0 on padding."""
        vectors = functional.embedding(batch.ids, self.embedding)
        vectors = functional.dropout(vectors, self.dropout, self.training)
        lengths = batch.lengths.cpu()
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=batch.ids.shape[1]
        )
        forward, backward = states.chunk(2, dim=2)
        return forward, backward

    def predictions(self, batch: TextBatch) -> Predictions:
        forward, backward = self.states(batch)
        before = functional.pad(forward[:, :-1], (0, 0, 1, 0))  # (texts, length, E)
        after = functional.pad(backward[:, 1:], (0, 0, 0, 1))
        real = batch.real
        vectors = self.before(before[real]) + self.after(after[real])  # (tokens, E)
        return functional.dropout(vectors, self.dropout, self.training), batch.ids[real], None

    def texts(self, batch: TextBatch) -> Tensor:
        forward, backward = self.states(batch)
        last = (batch.lengths - 1)[:, None, None].expand(-1, 1, forward.shape[2])
        embeddings: Tensor = self.before(forward.gather(1, last)[:, 0]) + self.after(backward[:, 0])
        return embeddings


class RoBERTa(TextModel):
    """Transformer that predicts masked tokens, with relative positions in keys and queries.

    Without embeddings and head a layer has 4 (E² + E) + 2EF + F + E + 4E parameters: six layers
    with E = 100 and F = 3072 have the published 3,950,232, and no other F gives them. There are no
    tokens for the ends of a text. A text's embedding is the mean of its last states; for one word
    in several subwords, the mean of layers 0 to 2 (StrAE, section 5).
    """

    dropout = 0.1  # in all layers (Liu et al. 2019)

    def __init__(self, words: int, settings: Any) -> None:
        super().__init__(words, settings)
        self.words, size = words, settings.embedding_size
        self.norm = nn.LayerNorm(size)
        self.layers = nn.ModuleList(
            Layer(size, settings.inner_size, settings.heads) for _ in range(settings.layers)
        )
        self.transform, self.head_norm = nn.Linear(size, size), nn.LayerNorm(size)
        self.bias = nn.Parameter(torch.zeros(words))

    def table(self, words: int, size: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(words + 1, size).normal_(std=0.02))  # and <mask>

    def states(self, batch: TextBatch) -> list[Tensor]:
        """Return the embeddings and the states after each layer, (texts, length, E) each."""
        dropout = self.dropout if self.training else 0.0
        vectors = functional.embedding(batch.ids, self.embedding)
        states = [functional.dropout(self.norm(vectors), dropout)]
        for layer in self.layers:
            states.append(layer(states[-1], batch.real, dropout))
        return states

    def predictions(self, batch: TextBatch) -> Predictions:
        real = batch.real
        draws = torch.rand(real.shape, device=real.device).masked_fill(~real, 2.0)
        # each text has a token to predict, however short it is
        chosen = (draws < MASKED_SHARE) | ((draws == draws.min(1, keepdim=True).values) & real)
        fate = torch.rand_like(draws)  # 80 % are masked, 10 % replaced by another word, 10 % kept
        replacements = torch.randint_like(batch.ids, self.words)
        ids = batch.ids.where(~chosen | (fate >= 0.9), replacements)
        ids = ids.masked_fill(chosen & (fate < 0.8), self.words)
        states = self.states(TextBatch(ids, batch.lengths, batch.word))[-1]
        vectors = self.head_norm(functional.gelu(self.transform(states[chosen])))
        return vectors, batch.ids[chosen], self.bias

    def texts(self, batch: TextBatch) -> Tensor:
        states = self.states(batch)
        lower_layers = torch.stack(states[:3]).mean(0)  # (texts, length, E)
        chosen = torch.where(batch.word[:, None, None], lower_layers, states[-1])
        weights = batch.real[..., None].to(chosen)
        return (chosen * weights).sum(1) / weights.sum(1)


class Layer(nn.Module):
    """Attention and a feed-forward net, each added to its input and normalized (as in BERT)."""

    def __init__(self, size: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(size, size), nn.Linear(size, size)
        self.value, self.output = nn.Linear(size, size), nn.Linear(size, size)
        self.widen, self.narrow = nn.Linear(size, inner), nn.Linear(inner, size)
        self.attention_norm, self.norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.distance = nn.Parameter(
            torch.empty(2 * MAX_DISTANCE - 1, size // heads).normal_(std=0.02)
        )
        for linear in (module for module in self.children() if isinstance(module, nn.Linear)):
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)

    def forward(self, states: Tensor, real: Tensor, dropout: float) -> Tensor:
        """Return new states (texts, length, E); no token attends to padding."""
        attended = self.output(self.attend(states, real, dropout))
        states = self.attention_norm(states + functional.dropout(attended, dropout))
        inner = self.narrow(functional.gelu(self.widen(states)))
        after: Tensor = self.norm(states + functional.dropout(inner, dropout))
        return after

    def attend(self, states: Tensor, real: Tensor, dropout: float) -> Tensor:
        """Return the attention output of each token, all heads concatenated, (texts, length, E).

        A score is (q · k + q · r + k · r) / √d, where r is the embedding of the distance from the
        key to the query (Huang et al. 2020, arXiv 2009.13658, method 4).
        """
        texts, length, size = states.shape

        def split(vectors: Tensor) -> Tensor:
            return vectors.view(texts, length, self.heads, -1).transpose(1, 2)

        queries, keys, values = (split(part(states)) for part in (self.query, self.key, self.value))
        positions = torch.arange(length, device=states.device)
        distances = (
            (positions[:, None] - positions).clamp(1 - MAX_DISTANCE, MAX_DISTANCE - 1)
            + MAX_DISTANCE
            - 1
        )
        distance = self.distance[distances]  # (length, length, d)
        scores = queries @ keys.transpose(2, 3)  # (texts, heads, length, length)
        scores = scores + torch.einsum("bhld,lrd->bhlr", queries, distance)
        scores = scores + torch.einsum("bhrd,lrd->bhlr", keys, distance)
        scores = scores / (size // self.heads) ** 0.5
        scores = scores.masked_fill(~real[:, None, None], float("-inf"))
        weights = functional.dropout(scores.softmax(3), dropout)
        return (weights @ values).transpose(1, 2).flatten(2)
