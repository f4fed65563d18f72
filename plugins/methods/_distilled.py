"""Making tables of token vectors: from an encoder, or at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag
from structkit.learning.encoders.encoder import Encoder
from structkit.learning.encoders.model_folder import open_model
from structkit.learning.encoders.tokenizer import train_tokenizer
from structkit.learning.encoding.encoding import embed_in_batches
from structkit.learning.encoding.torch_engine import TorchEngine
from structkit.learning.static.bag import Bag
from structkit.learning.static.distill import (
    Weights,
    components,
    roots_of_idf,
    smooth_inverse_frequencies,
    zipf,
)
from structkit.learning.static.table import Table
from structkit.learning.static.words import Frequencies, plain, with_words
from structkit.learning.training.module import TrainingModule
from structkit.learning.training.settings import ANY_LENGTH
from structkit.learning.training.spool import Spool
from structkit.records.jsonl import Record
from structkit.seeds import key

if TYPE_CHECKING:
    from .static import Method

BATCH_TOKENS = 1024  # in sequences of two or three tokens: fits a processor's cache
UNUSED = "[unused"  # BERT's tokens that no text has


class Distilled(TrainingModule):
    """A table that is already made; `contrastive` can train it further."""

    def __init__(self, settings: Method, table: Table) -> None:
        super().__init__(settings)
        self.bag, self.tokenizer = Bag(table.rows, saturating=table.saturating), table.tokenizer

    def save(self, folder: Path) -> None:
        rows = self.bag.embedding.weight.detach().cpu().numpy()
        Table(rows, self.tokenizer, self.bag.saturating).write(folder, normalize=True)

    def facts(self) -> Record:
        return {"pooling": "mean", "normalize": True, "prompts": {}, "lengths": ANY_LENGTH}


def distilled(settings: Method, spool: Spool, offline: bool) -> Distilled:
    """The embedding of each token, as a text by itself, by an encoder."""
    encoder, _ = open_model(str(settings.model), offline=offline, normalize=False)
    if not isinstance(encoder, Encoder):
        raise UserError(
            f"{settings.model} is not a transformers encoder",
            f"give {flag('model')} such an encoder",
        )
    own = plain(encoder.tokenizing.tokenizer.backend_tokenizer)
    words = Frequencies(own).count(settings.texts(spool))
    new = words.common(settings.minimum_count, settings.most_words) if len(spool) else []
    tokenizer = with_words(own, new) if new else own
    vocabulary = tokenizer.get_vocab_size()
    special = set(encoder.tokenizing.tokenizer.all_special_ids)
    names = [tokenizer.id_to_token(number) or "" for number in range(vocabulary)]
    kept = [
        number
        for number, name in enumerate(names)
        if name and number not in special and not name.startswith(UNUSED)
    ]
    size = own.get_vocab_size()
    ids = [[number] if number < size else pieces(own, names[number]) for number in kept]
    inputs = [encoder.tokenizing.dressed(each) for each in ids]
    engine = TorchEngine(encoder.eval(), str(encoder.device), "fp32")
    vectors = embed_in_batches(engine, inputs, BATCH_TOKENS)
    vectors = components(vectors, settings.dimensions or 256)
    rows = np.zeros((vocabulary, vectors.shape[1]), np.float32)
    weights = weighted(settings, tokenizer, spool, kept)
    rows[kept] = vectors * weights[:, None]
    return Distilled(settings, Table(rows, tokenizer, settings.saturating))


def pieces(tokenizer: Tokenizer, word: str) -> list[int]:
    """The tokens of a word in the tokenizer's own spelling."""
    numbers: list[int] = [token.id for token in tokenizer.model.tokenize(word)]
    return numbers


def from_scratch(settings: Method, spool: Spool) -> Distilled:
    """Random directions, nearly orthogonal: the mean is a bag of words."""
    made = train_tokenizer(
        settings.texts(spool),
        settings.vocabulary_size,
        split_identifiers=settings.split_identifiers,
        words_alike=True,  # a query has `retry` where code has `.retry(`
    )
    tokenizer = plain(made.backend_tokenizer)
    size = tokenizer.get_vocab_size()
    generator = np.random.default_rng(key(settings.seed, "parameters"))
    dimensions = settings.dimensions or 512
    rows = generator.standard_normal((size, dimensions), np.float32)
    rows /= np.float32(dimensions**0.5)
    rows *= weighted(settings, tokenizer, spool, list(range(size)))[:, None]
    return Distilled(settings, Table(rows, tokenizer, settings.saturating))


def weighted(settings: Method, tokenizer: Tokenizer, spool: Spool, kept: list[int]) -> Vectors:
    """The weight of each token, (tokens,)."""
    kind = settings.weights or ("zipf" if settings.model else "idf")
    weights: Weights = np.ones(len(kept))
    if kind == "zipf":
        weights = smooth_inverse_frequencies(zipf(len(kept)), settings.sif_coefficient)
    elif kind != "none":
        texts, times, having = counted(tokenizer, settings, spool)
        if kind == "sif":
            shares = times[kept] / max(1, times.sum())
            weights = smooth_inverse_frequencies(shares, settings.sif_coefficient)
        else:
            weights = roots_of_idf(texts, having[kept])
    return weights.astype(np.float32)


def counted(tokenizer: Tokenizer, settings: Method, spool: Spool) -> tuple[int, Any, Any]:
    """How many texts there are, how often they have each token, and how many have it."""
    times: Counter[int] = Counter()
    having: Counter[int] = Counter()
    texts = 0
    for text in settings.texts(spool):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        texts += 1
        times.update(ids)
        having.update(set(ids))
    numbers = range(tokenizer.get_vocab_size())
    return (
        texts,
        np.array([times[number] for number in numbers]),
        np.array([having[number] for number in numbers]),
    )
