"""Making tables of token vectors: from an encoder, from a larger table, or at random.

Principal components and weights by token frequency are as in model2vec
(https://github.com/MinishLab/model2vec), whose own distillation needs other versions of
transformers than ours. Frequent words of the records become one token each.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from structkit.embeddings.vectors import Vectors
from structkit.errors import UserError, flag
from structkit.learning.encoders.encoder import Encoder, open_model
from structkit.learning.encoders.models import TableModel, train_tokenizer
from structkit.learning.encoding.encoding import compute_in_batches
from structkit.learning.encoding.torch_engine import TorchEngine
from structkit.learning.metadata import UNLIMITED_LENGTHS
from structkit.learning.static import Table
from structkit.learning.training.data import Spool
from structkit.learning.training.method import Method
from structkit.learning.training.trainer import TrainingModule
from structkit.records.jsonl import Record
from structkit.reproducibility import key

MAXIMUM_WORDS = 10_000  # that are added from the records …
MINIMUM_COUNT = 5  # … where they occur this often
SIF_COEFFICIENT = 1e-4  # the share at which a token has weight 1/2 (model2vec's default)
TABLE_BATCH_TOKENS = 1024  # in sequences of two or three tokens: fits a processor's cache
UNUSED_PREFIX = "[unused"  # BERT's tokens that no text has


class Distilled(TrainingModule):
    """A table that is already made; `contrastive` can train it further."""

    def __init__(self, settings: Method, table: Table) -> None:
        super().__init__(settings)
        self.bag, self.tokenizer = TableModel(table), table.tokenizer

    def save(self, folder: Path) -> None:
        table = self.bag.table(self.tokenizer)
        table.write(folder, normalize=True)

    def metadata(self) -> Record:
        return {"pooling": "mean", "normalize": True, "prompts": {}, "lengths": UNLIMITED_LENGTHS}


def distill_table(settings: Any, spool: Spool) -> Table:
    """Return an encoder's embedding of each token as a text."""
    encoder, _ = open_model(str(settings.model), offline=True, normalize=False)
    if not isinstance(encoder, Encoder):
        raise UserError(
            f"{settings.model} is not a transformers encoder",
            f"give {flag('model')} such an encoder",
        )
    own = without_special_tokens(encoder.tokenizing.tokenizer)
    new = common_words(own, settings.texts(spool))
    tokenizer = with_words(own, new) if new else own
    vocabulary = tokenizer.get_vocab_size()
    special = set(encoder.tokenizer.all_special_ids)
    names = [tokenizer.id_to_token(number) or "" for number in range(vocabulary)]
    kept = [
        number
        for number, name in enumerate(names)
        if name and number not in special and not name.startswith(UNUSED_PREFIX)
    ]
    size = own.get_vocab_size()
    inputs = []
    for number in kept:
        split = [] if number < size else own.model.tokenize(names[number])
        ids = [token.id for token in split] or [number]
        inputs.append(encoder.tokenizing.with_special_tokens(ids))
    engine = TorchEngine(encoder.eval(), str(encoder.device), "fp32")
    embeddings = compute_in_batches(engine.embeddings, inputs, TABLE_BATCH_TOKENS)
    vectors = components(np.stack(embeddings), settings.dimensions)
    rows = np.zeros((vocabulary, vectors.shape[1]), np.float32)
    rows[kept] = vectors * zipf_weights(len(kept))[:, None]
    return Table(rows, tokenizer, settings.saturating)


def random_table(settings: Any, spool: Spool) -> Table:
    """Return random directions, nearly orthogonal: the mean is a bag of words."""
    made = train_tokenizer(
        settings.texts(spool),
        settings.vocabulary_size,
        words_alike=True,  # a query has `retry` where code has `.retry(`
    )
    tokenizer = without_special_tokens(made.backend_tokenizer)
    size = tokenizer.get_vocab_size()
    generator = np.random.default_rng(key(settings.seed, "parameters"))
    dimensions = settings.dimensions
    rows = generator.standard_normal((size, dimensions), np.float32)
    rows /= np.float32(dimensions**0.5)
    texts, having = 0, np.zeros(size, np.int64)
    for text in settings.texts(spool):
        texts += 1
        having[list(set(tokenizer.encode(text, add_special_tokens=False).ids))] += 1
    # √idf, so that products of two tokens get idf: Lucene's for BM25, which is never negative
    idf = np.log1p((texts - having + 0.5) / (having + 0.5))
    rows *= np.sqrt(idf).astype(np.float32)[:, None]
    return Table(rows, tokenizer, settings.saturating)


def components(vectors: Vectors, dimensions: int) -> Vectors:
    """Return vectors (tokens, dim) along their principal components, (tokens, dimensions).

    >>> line = np.array([[0, 0], [1, 1], [3, 3]], np.float32)
    >>> np.abs(np.diff(components(line, 1)[:, 0]) / 2**0.5).round(6).tolist()
    [1.0, 2.0]
    """
    centered = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centered.T @ centered)  # the largest component is the last
    main: Vectors = (centered @ axes[:, ::-1][:, :dimensions]).astype(np.float32)
    return main


def zipf_weights(tokens: int) -> Vectors:
    """Return the weight a / (a + p) of tokens by falling frequency p, which follows Zipf's law.

    Source: Arora et al. 2017, eq. 3, as in model2vec.

    >>> [round(1e4 * float(each), 3) for each in zipf_weights(2)]
    [1.666, 2.499]
    """
    inverse = 1 / np.arange(2, tokens + 2)
    shares = inverse / inverse.sum()
    weights: Vectors = (SIF_COEFFICIENT / (SIF_COEFFICIENT + shares)).astype(np.float32)
    return weights


def common_words(tokenizer: Tokenizer, texts: Iterable[str]) -> list[str]:
    """Return the words of texts that occur often and are not tokens yet, by frequency."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(split_words(tokenizer, text))
    known = tokenizer.get_vocab()
    common = [
        (-count, word)
        for word, count in counts.items()
        if count >= MINIMUM_COUNT and word not in known and any(map(str.isalpha, word))
    ]
    return [word for _, word in sorted(common)[:MAXIMUM_WORDS]]


def split_words(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the words of a text before splitting into tokens, normalized."""
    if tokenizer.normalizer is not None:
        text = tokenizer.normalizer.normalize_str(text)
    if tokenizer.pre_tokenizer is None:
        return text.split()
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


def without_special_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Return the same tokenizer without special tokens, padding and truncation."""
    content = json.loads(tokenizer.to_str())
    content |= {"post_processor": None, "padding": None, "truncation": None}
    return Tokenizer.from_str(json.dumps(content))


def with_words(tokenizer: Tokenizer, words: Sequence[str]) -> Tokenizer:
    """Return the same tokenizer, with one token for each of these words as it normalizes them.

    Their ids follow the existing ones. Errors: ids that are not consecutive.
    """
    content = json.loads(tokenizer.to_str())
    model, first = content["model"], tokenizer.get_vocab_size()
    if model["type"] == "Unigram":
        if len(model["vocab"]) != first:
            raise UserError(
                "the tokens of the model's tokenizer are not numbered one after the other",
                "train without records: the model's own vocabulary is used",
            )
        model["vocab"] += [[word, 0.0] for word in words]  # more likely than any split
    else:
        model["vocab"] |= {word: first + number for number, word in enumerate(words)}
        if model["type"] == "BPE":
            model["ignore_merges"] = True  # a word that is a token needs no merges
        if model["type"] == "WordPiece":
            longest = max(map(len, words), default=0)
            model["max_input_chars_per_word"] = max(model["max_input_chars_per_word"], longest)
    return Tokenizer.from_str(json.dumps(content))
