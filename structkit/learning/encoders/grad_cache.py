"""Gradients of a loss over a whole batch, with only a chunk of it in memory at a time.

First all texts are embedded without a graph; the loss over all embeddings gives each of them its
gradient; then the texts are embedded again chunk by chunk, with the same random numbers, and their
embeddings' gradients are passed on to the parameters. The last chunk, of the longest documents, has
its graph from the start: this takes no more memory than later, and saves a pass. Source: Gao et al.
2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (arXiv 2101.06983),
section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from structkit.learning.encoders.poolings import Tokens, by_tokens
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.training.devices import exact_products, gather_rows, total
from structkit.learning.training.trainer import Numbers, TrainingModule


@dataclass(frozen=True)
class LocalTexts:
    """The part of a batch's texts for this process, and where it begins among all."""

    tokens: Tokens | None  # none where the part is empty
    first: int
    total: int

    def chunks(self, size: int) -> Iterator[Tensor]:
        """Yield the places of at most `size` texts, shortest first; 0: all at once.

        A GPU takes more of them if they are shorter than the longest: as many padded tokens.
        """
        if self.tokens is None:
            return
        lengths = self.tokens.lengths
        if size and self.tokens.ids.device.type == "cpu":
            yield from torch.split(lengths.argsort(stable=True), size)
        elif size:
            yield from by_tokens(lengths, size * int(lengths.max()))
        else:
            yield torch.arange(len(lengths))


@dataclass(frozen=True)
class Pairs:
    """A batch: texts by name, the queries first; the positive of query i is document i * group."""

    texts: dict[str, LocalTexts]  # of (batch, query length) and (documents, document length)
    exclude: Tensor | None  # (batch, batch * group): which documents are no negatives of a query
    present: Tensor | None = None  # (batch * group,): which documents there are, if some are not
    teacher: Tensor | None = None  # (batch, group): a teacher's scores, NaN where no document is


class Random:
    """The state of the random numbers that dropout uses, to use them again."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        self.mps = torch.mps.get_rng_state() if device.type == "mps" else None

    def restore(self) -> None:
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda, self.device)
        if self.mps is not None:
            torch.mps.set_rng_state(self.mps)


@dataclass(frozen=True)
class _Piece:
    """Some texts and their embeddings; if without a graph, the random state before them."""

    name: str
    rows: Tensor
    random: Random | None
    embeddings: Tensor
    losses: dict[str, Tensor]


class CachedTraining(TrainingModule):
    """Training by a loss over the embeddings of a batch's texts, as a subclass computes both."""

    settings: EncoderSettings
    width: int  # of an embedding

    def embedded(self, inputs: Any, name: str, rows: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return embeddings of some texts, (rows, width), and these texts' own losses.

        Such a loss is the texts' part of a sum over the whole batch.
        """
        raise NotImplementedError

    def objective(
        self, inputs: Any, embeddings: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss over the embeddings of all processes, by names of texts, and its parts.

        The parts are for the log.
        """
        raise NotImplementedError

    def weights(self) -> dict[str, float]:
        """Return the losses that `embedded` may return, and the weight of each in the sum."""
        return {}

    def backward(self, inputs: Any) -> Numbers:
        texts = inputs.texts
        pieces = list(self._pieces(inputs, texts))
        embeddings = {name: self._all(pieces, name, each) for name, each in texts.items()}
        # the scores are divided by a temperature: bfloat16 or TF32 would be too coarse for them
        with exact_products(self.device):
            loss, parts = self.objective(inputs, embeddings)
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
        if torch.is_grad_enabled():
            self._pass_through(inputs, pieces, embeddings, texts)
        return self._numbers(loss, parts, pieces)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16)

    def _pieces(self, inputs: Pairs, texts: dict[str, LocalTexts]) -> Iterator[_Piece]:
        """Yield all texts of this process, embedded in chunks; the last has a graph."""
        size = self.settings.chunk_size
        chunks = {name: list(each.chunks(size)) for name, each in texts.items()}
        every = [(name, rows) for name, each in chunks.items() for rows in each]
        for number, (name, rows) in enumerate(every, 1):
            again = bool(size) and number < len(every) and torch.is_grad_enabled()
            random = Random(self.device) if again else None
            # a context of its own: weights cast without a graph must not be used with one
            with torch.no_grad() if again else nullcontext(), self._autocast():
                yield _Piece(name, rows, random, *self.embedded(inputs, name, rows))

    def _all(self, pieces: list[_Piece], name: str, texts: LocalTexts) -> Tensor:
        """Return the embeddings of all processes, (total, width), detached from their graphs."""
        own = [piece for piece in pieces if piece.name == name]
        count = sum(len(piece.rows) for piece in own)
        embeddings = torch.empty(count, self.width, device=self.device)
        for piece in own:
            embeddings[piece.rows] = piece.embeddings.detach().float()
        return gather_rows(embeddings, texts.first, texts.total).requires_grad_()

    def _pass_through(
        self,
        inputs: Pairs,
        pieces: list[_Piece],
        leaves: dict[str, Tensor],
        texts: dict[str, LocalTexts],
    ) -> None:
        """Pass the embeddings' gradients, and the losses of single texts, on to the parameters."""
        after, weights = Random(self.device), self.weights()
        outputs: list[Tensor] = []
        gradients: list[Tensor | None] = []
        for number, piece in enumerate(reversed(pieces), 1):  # the one with its graph comes first
            embeddings, losses = piece.embeddings, piece.losses
            if piece.random:
                piece.random.restore()
                with self._autocast():
                    embeddings, losses = self.embedded(inputs, piece.name, piece.rows)
            gradient = leaves[piece.name].grad
            if gradient is not None:
                rows = texts[piece.name].first + piece.rows
                outputs.append(embeddings)
                gradients.append(gradient[rows])
            outputs += [weights[name] * part for name, part in losses.items()]
            gradients += [None] * len(losses)
            if outputs and (self.settings.chunk_size or number == len(pieces)):
                torch.autograd.backward(outputs, gradients)
                outputs, gradients = [], []
        after.restore()

    def _numbers(self, loss: Tensor, parts: dict[str, Tensor], pieces: list[_Piece]) -> Numbers:
        """Return what reads the loss of the batch and its parts, the same in all processes."""
        losses = [(name, part.detach()) for each in pieces for name, part in each.losses.items()]
        mean, weights = loss.detach(), self.weights()

        def read() -> dict[str, float]:
            sums = dict.fromkeys(weights, 0.0)
            for name, part in losses:
                sums[name] += part.item()
            single = {name: total(value) for name, value in sums.items()}
            whole = mean.item() + sum(weights[name] * part for name, part in single.items())
            return {"loss": whole, **{name: part.item() for name, part in parts.items()}, **single}

        return read
