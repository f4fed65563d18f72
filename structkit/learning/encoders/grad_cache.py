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
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from structkit.learning.encoders.poolings import Tokens, by_tokens, pad
from structkit.learning.encoders.settings import EncoderSettings
from structkit.learning.training.devices import exact_products, gather, gather_rows, total
from structkit.learning.training.trainer import Numbers, Parts


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
    shards: Parts | None  # with these, all processes must call the same layers

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

    def last_backward(self) -> None:
        """Say that the next backward pass is the last one of a step."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


def with_blanks(inputs: B, device: torch.device) -> B:
    """Return a batch with a text of one token instead of none, which is computed times 0."""
    blank = pad([[0]], 0).to(device)
    texts = {
        name: each if each.tokens else replace(each, tokens=blank)
        for name, each in inputs.texts.items()
    }
    changed: B = replace(inputs, texts=texts)  # type: ignore[type-var]
    return changed


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
    real: bool  # or only there because another process has more pieces
    random: Random | None
    embeddings: Tensor
    losses: dict[str, Tensor]


def backward(module: Embedding[B], inputs: B) -> Numbers:
    """Add the gradients of a batch to the module; returns what reads the loss and its parts."""
    device = next(module.parameters()).device
    texts = inputs.texts
    if module.shards:
        inputs = with_blanks(inputs, device)
    pieces = list(_pieces(module, inputs, texts, device))
    embeddings = {
        name: _all(module.width, pieces, name, each, device) for name, each in texts.items()
    }
    # the scores are divided by a temperature: bfloat16 or TF32 would be too coarse for them
    with exact_products(device):
        loss, parts = module.objective(inputs, embeddings)
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
    if torch.is_grad_enabled():
        _through(module, inputs, pieces, embeddings, texts, device)
    return _numbers(module, loss, parts, pieces)


def _autocast(module: Embedding[B], device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=module.settings.bf16)


def _pieces(
    module: Embedding[B], inputs: B, texts: dict[str, LocalTexts], device: torch.device
) -> Iterator[_Piece]:
    """Yield all texts of this process, embedded in chunks; the last has a graph."""
    size = module.settings.chunk_size
    chunks = {name: list(each.chunks(size)) for name, each in texts.items()}
    counts = {name: len(rows) for name, rows in chunks.items()}
    if module.shards:  # all processes compute as many of each
        of_ranks = gather(counts)
        counts = {name: max(each[name] for each in of_ranks) for name in counts}
    places = [(name, number) for name, count in counts.items() for number in range(count)]
    for number, (name, place) in enumerate(places, 1):
        real = place < len(chunks[name])
        rows = chunks[name][place] if real else torch.zeros(1, dtype=torch.int64)
        again = bool(size) and number < len(places) and torch.is_grad_enabled()
        random = Random(device) if again else None
        # a context of its own: weights that it has cast without a graph must not be used with one
        with torch.no_grad() if again else nullcontext(), _autocast(module, device):
            yield _Piece(name, rows, real, random, *module.embedded(inputs, name, rows))


def _all(
    width: int, pieces: list[_Piece], name: str, texts: LocalTexts, device: torch.device
) -> Tensor:
    """Return the embeddings of all processes, (total, width), detached from their graphs."""
    own = [piece for piece in pieces if piece.name == name and piece.real]
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
    for number, piece in enumerate(reversed(pieces), 1):  # the one with its graph comes first
        embeddings, losses = piece.embeddings, piece.losses
        if piece.random:
            piece.random.restore()
            with _autocast(module, device):
                embeddings, losses = module.embedded(inputs, piece.name, piece.rows)
        gradient = leaves[piece.name].grad
        if gradient is not None:
            rows = texts[piece.name].first + piece.rows
            outputs.append(embeddings)
            gradients.append(gradient[rows] if piece.real else torch.zeros_like(embeddings))
        outputs += [module.weights()[name] * part * piece.real for name, part in losses.items()]
        gradients += [None] * len(losses)
        if number == len(pieces):
            module.last_backward()
        if module.settings.chunk_size or number == len(pieces):
            _backward(outputs, gradients)
            outputs, gradients = [], []
    after.restore()


def _backward(outputs: list[Tensor], gradients: list[Tensor | None]) -> None:
    if outputs:
        torch.autograd.backward(outputs, gradients)


def _numbers(
    module: Embedding[B], loss: Tensor, parts: dict[str, Tensor], pieces: list[_Piece]
) -> Numbers:
    """Return what reads the loss of the batch and its parts, the same in all processes."""
    real = [piece.losses for piece in pieces if piece.real]
    losses = [(name, part.detach()) for each in real for name, part in each.items()]
    mean = loss.detach()

    def read() -> dict[str, float]:
        sums = dict.fromkeys(module.weights(), 0.0)
        for name, part in losses:
            sums[name] += part.item()
        single = {name: total(value) for name, value in sums.items()}
        whole = mean.item() + sum(module.weights()[name] * part for name, part in single.items())
        return {"loss": whole, **{name: part.item() for name, part in parts.items()}, **single}

    return read
