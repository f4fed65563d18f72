"""Gradients of a loss over a whole batch, with only a chunk of it in memory at a time.

First all texts are embedded without a graph; the loss over all embeddings gives each of them its
gradient; then the texts are embedded again chunk by chunk, with the same random numbers, and their
embeddings' gradients are passed on to the parameters. The last chunk, of the longest documents, has
its graph from the start: this takes no more memory than later, and saves a pass. Source: Gao et al.
2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup" (arXiv 2101.06983),
section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from structkit.learning.encoders.poolings import Tokens, by_tokens
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.training.devices import exact_products, gather_rows, total


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


class Batch(Protocol):
    """Contract of a batch."""

    @property
    def texts(self) -> dict[str, LocalTexts]:
        """The texts to embed, by name."""
        ...

    @property
    def exclude(self) -> Tensor | None:
        """Documents that are not negatives of queries, (queries, documents)."""
        ...

    @property
    def present(self) -> Tensor | None:
        """Which places for documents hold one, (places,); None if all do."""
        ...

    @property
    def teacher(self) -> Tensor | None:
        """A teacher's scores of each query's own documents, (queries, group)."""
        ...


B = TypeVar("B", bound=Batch)
B_contra = TypeVar("B_contra", bound=Batch, contravariant=True)


class Embedding(Protocol[B_contra]):
    """Contract of a module whose gradients are computed here."""

    settings: EncoderSettings
    width: int  # of an embedding

    def embedded(
        self, inputs: B_contra, name: str, rows: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return embeddings of some texts, (rows, width), and these texts' own losses.

        Such a loss is the texts' part of a sum over the whole batch.
        """
        ...

    def objective(
        self, inputs: B_contra, embeddings: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss over the embeddings of all processes, and its parts for the log."""
        ...

    def weights(self) -> dict[str, float]:
        """Return the losses that `embedded` may return, and the weight of each in the sum."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


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


def backward(module: Embedding[B], inputs: B) -> dict[str, float]:
    """Add the gradients of a batch to the module; returns the loss and its parts."""
    device = next(module.parameters()).device
    texts = inputs.texts
    pieces = list(_pieces(module, inputs, texts, device))
    embeddings = {
        name: _all(module.width, pieces, name, each, device) for name, each in texts.items()
    }
    # the scores are divided by a temperature: bfloat16 or TF32 would be too coarse for them
    with exact_products(device):
        loss, parts = module.objective(inputs, embeddings)
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
    _through(module, inputs, pieces, embeddings, texts, device)
    return _numbers(module, loss, parts, pieces)


def _autocast(module: Embedding[B], device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=module.settings.bf16)


def _pieces(
    module: Embedding[B], inputs: B, texts: dict[str, LocalTexts], device: torch.device
) -> Iterator[_Piece]:
    """Yield all texts of this process, embedded in chunks; the last has a graph."""
    size = module.settings.chunk_size
    places = [(name, rows) for name, each in texts.items() for rows in each.chunks(size)]
    for number, (name, rows) in enumerate(places, 1):
        again = bool(size) and number < len(places)
        random = Random(device) if again else None
        # a context of its own: weights that it has cast without a graph must not be used with one
        with torch.set_grad_enabled(not again), _autocast(module, device):
            yield _Piece(name, rows, random, *module.embedded(inputs, name, rows))


def _all(
    width: int, pieces: list[_Piece], name: str, texts: LocalTexts, device: torch.device
) -> Tensor:
    """Return the embeddings of all processes, (total, width), detached from their graphs."""
    own = [piece for piece in pieces if piece.name == name]
    count = sum(len(piece.rows) for piece in own)
    embeddings = torch.empty(count, width, device=device)
    for piece in own:
        embeddings[piece.rows] = piece.embeddings.detach().float()
    return gather_rows(embeddings, texts.first, texts.total).requires_grad_()


def _through(
    module: Embedding[B],
    inputs: B,
    pieces: list[_Piece],
    leaves: dict[str, Tensor],
    texts: dict[str, LocalTexts],
    device: torch.device,
) -> None:
    """Pass the embeddings' gradients, and the losses of single texts, on to the parameters."""
    after = Random(device)
    outputs: list[Tensor] = []
    gradients: list[Tensor | None] = []
    for piece in reversed(pieces):  # the one that has its graph already comes first
        embeddings, losses = piece.embeddings, piece.losses
        if piece.random:
            piece.random.restore()
            with _autocast(module, device):
                embeddings, losses = module.embedded(inputs, piece.name, piece.rows)
        gradient = leaves[piece.name].grad
        if gradient is not None:
            outputs.append(embeddings)
            gradients.append(gradient[texts[piece.name].first + piece.rows])
        outputs += [module.weights()[name] * part for name, part in losses.items()]
        gradients += [None] * len(losses)
        if module.settings.chunk_size:
            _backward(outputs, gradients)
            outputs, gradients = [], []
    _backward(outputs, gradients)
    after.restore()


def _backward(outputs: list[Tensor], gradients: list[Tensor | None]) -> None:
    if outputs:
        torch.autograd.backward(outputs, gradients)


def _numbers(
    module: Embedding[B], loss: Tensor, parts: dict[str, Tensor], pieces: list[_Piece]
) -> dict[str, float]:
    """Return the loss of the batch and its parts, the same in all processes."""
    sums: Counter[str] = Counter()
    for piece in pieces:
        sums.update({name: part.item() for name, part in piece.losses.items()})
    single = {name: total(sums[name]) for name in module.weights()}
    whole_loss = loss.item() + sum(module.weights()[name] * part for name, part in single.items())
    return {"loss": whole_loss, **{name: part.item() for name, part in parts.items()}, **single}
