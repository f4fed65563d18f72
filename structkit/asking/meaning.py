"""Embeddings of passages by a model, of which only new ones are computed, and chance."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structkit.asking.cache import Store, records_in
from structkit.asking.folder import Folder, IndexedFile, data_of, indexed_files, moves
from structkit.embeddings.vectors import (
    Floats,
    Int8Rows,
    Numbers,
    TextEncoding,
    Vectors,
    quantize,
    unit,
)
from structkit.processes import cores
from structkit.progress import Position, announce, progress
from structkit.records.fields import document_text
from structkit.searching.words import tokens
from structkit.seeds import random_for

EMBEDDED = "embedded"  # in a store's memory
NAMES = ("model", "embedded", "codes", "scales", "chance")
# of 257 questions about 13 repositories, 98 % find a passage beyond chance, with the shipped table
# and with MiniLM; of other nonsense 1 and 2 %, of everyday questions 19 and 6 %. By the scores
# alone it would be 54 % with the table: some passages have something of every rare word.
# Measured by `python -m experiments.chance`
NONSENSE = 256  # questions of random letters
QUANTILE = 0.99  # of their best passages
TINY = 1e-6
FEW = 1024  # rows whose floats fit into the processor's cache
MANY = 1000  # passages that may take a second to encode, and that are encoded together


@dataclass(frozen=True)
class Chance:
    """Similarity of passages to meaningless questions: words of random letters.

    The standard score of a passage is its distance above its own mean over them, in its own
    deviations. `least` is not exceeded by the best passage for 99 of 100 of them.
    """

    means: Floats  # (passages,)
    deviations: Floats  # (passages,)
    least: float
    most: float  # the highest score of a passage for any of them

    @classmethod
    def of(cls, vectors: Vectors | Int8Rows, queries: TextEncoding) -> Self:
        """Return chance for these passages (passages, dimensions) and question encoding."""
        records = ({"id": question, "text": question} for question in nonsense(NONSENSE))
        asked = unit(np.concatenate([rows for _, rows in queries.embedded(records)]))
        means, deviations = np.empty(len(vectors)), np.empty(len(vectors))
        best = np.full(len(asked), -np.inf)
        for first in range(0, len(vectors), FEW):
            here = slice(first, first + FEW)
            scores: Vectors = vectors[here] @ asked.T  # (rows, questions)
            means[here] = scores.mean(axis=1)
            scores -= means[here, None]
            deviations[here] = np.sqrt(np.einsum("rq,rq->r", scores, scores) / len(asked))
            scores *= _inverse(deviations[here, None])
            best = np.maximum(best, scores.max(axis=0))
        return cls(means, deviations, float(np.quantile(best, QUANTILE)), float(best.max()))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Restore the value from the bytes of `data`."""
        numbers = np.frombuffer(data, np.float64)
        means, deviations = numbers[:-2].reshape(2, -1)
        return cls(means, deviations, *numbers[-2:].tolist())

    def within(self, passages: slice) -> Self:
        """Return chance with some of the passages; its bounds do not change."""
        means, deviations = self.means[passages], self.deviations[passages]
        return type(self)(means, deviations, self.least, self.most)

    def data(self) -> bytes:
        return np.concatenate((self.means, self.deviations, [self.least, self.most])).tobytes()

    def exceeds(self, scores: Floats, *, known: bool = True) -> NDArray[np.bool_]:
        """Return which passages are closer to a question of length 1 than chance, (passages,).

        If the model has `known` none of its words, the question may be nonsense itself.
        """
        least = self.least if known else self.most
        return (scores - self.means) * _inverse(self.deviations) > least


def _inverse(deviations: Floats) -> Floats:
    """Return the inverses; 0 where all scores are the same, as for an empty passage."""
    return np.divide(1.0, deviations, np.zeros_like(deviations), where=deviations > TINY)


def nonsense(count: int) -> list[str]:
    """Return questions of one to six words of random letters, always the same.

    >>> nonsense(2)
    ['fktaxswem pojlg buk xjj madhbfyi spwtxlcv', 'naiohse ncrjhwcvr mntbskhd ypfpk']
    """
    random = random_for(0, "nonsense")

    def word() -> str:
        return "".join(random.choices(string.ascii_lowercase, k=random.randint(3, 9)))

    return [" ".join(word() for _ in range(random.randint(1, 6))) for _ in range(count)]


class Meaning:
    """The embeddings of a folder's passages, and the model that encodes questions.

    Each is made when it is first used: a report is searched by words alone.
    """

    def __init__(self, folder: Folder, encoding: Callable[[str], TextEncoding]) -> None:
        self._folder, self._encoding = folder, encoding

    @cached_property
    def _queries(self) -> TextEncoding:
        return self._encoding("query")

    @cached_property
    def _made(self) -> tuple[Int8Rows, Chance]:
        """The rows of the folder's passages, kept ones and new ones, and chance with them."""
        store, below = self._folder.store, self._folder.below
        model = str(self._queries.meta()["model_sha256"]).encode()
        name, files = f"{EMBEDDED} {below}", self._folder.files
        known: tuple[bytes, Any, tuple[Int8Rows, Chance]] | None = store.memory.get(name)
        if known and known[0] == model and known[1] == files:
            return known[2]
        made = self._make(model)
        store.memory[name] = model, files, made
        return made

    def _make(self, model: bytes) -> tuple[Int8Rows, Chance]:
        store, stored, below = self._folder.store, self._folder.stored, self._folder.below
        kept = store.parts(NAMES)
        files: Sequence[IndexedFile] = []
        vectors, chance = Int8Rows(np.empty((0, 1), np.int8), np.empty(0, np.float32)), b""
        if kept and kept["model"] == model:
            same = kept["embedded"] == data_of(stored)
            files = stored if same else indexed_files(kept["embedded"])
            chance = kept["chance"]
            scales = np.frombuffer(kept["scales"], np.float32)
            codes = np.frombuffer(kept["codes"], np.int8).reshape(len(scales), -1)
            vectors = Int8Rows(codes, scales)  # (passages, dimensions)
        wanted = _wanted(self._folder, files)
        if files != wanted:
            vectors = _embed(store, files, wanted, vectors, self._encoding("document"))
            chance = Chance.of(vectors, self._queries).data()
            codes, scales = vectors.codes, vectors.scales
            data = (model, data_of(wanted), codes.tobytes(), scales.tobytes(), chance)
            with store.changing():
                store.put_parts(dict(zip(NAMES, data, strict=True)))
        first = sum(each.passages for each in wanted if each.path < below)
        here = slice(first, first + len(self._folder))
        return vectors.take(here), Chance.read(chance).within(here)

    def scores(self, question: str) -> tuple[Floats, NDArray[np.bool_]]:
        """Return each passage's inner product with a question, and whether it beats chance.

        Both (passages,).
        """
        _, vectors = next(self._queries.embedded([{"id": "1", "text": question}]))
        scores = self._products(vectors[0])
        length = max(float(np.linalg.norm(vectors[0])), TINY)
        _, chance = self._made
        return scores, chance.exceeds(scores / length, known=self._knows(question))

    def _knows(self, question: str) -> bool:
        """Return whether the model reads a word of a question as one token."""
        nothing, *sizes = self._queries.sizes(["", *tokens(question)])
        return any(size == nothing + 1 for size in sizes)

    @property
    def embed(self) -> Callable[[Sequence[str]], Floats] | None:
        """Function from lines to embeddings of length 1; None for a slow model."""
        return self._embedded if self._queries.forks else None

    def _embedded(self, texts: Sequence[str]) -> Floats:
        records = ({"id": str(number), "text": text} for number, text in enumerate(texts))
        return unit(np.concatenate([rows for _, rows in self._queries.embedded(records)]))

    def similar(self, passage: int) -> Floats:
        """Return the inner product of each passage with one of them, (passages,)."""
        vectors, _ = self._made
        return self._products(vectors[passage : passage + 1][0])

    def _products(self, vector: Vectors) -> Vectors:
        vectors, _ = self._made
        scores = np.empty(len(vectors), np.float32)
        for first in range(0, len(scores), FEW):
            here = slice(first, first + FEW)
            scores[here] = vectors[here] @ vector
        return scores


def _wanted(folder: Folder, files: Sequence[IndexedFile]) -> Sequence[IndexedFile]:
    """Return the folder's files, and those around it whose embeddings are known."""
    if not folder.below:
        return folder.stored
    known = set(files)
    return [each for each in folder.stored if each.path.startswith(folder.below) or each in known]


def _embed(
    store: Store,
    files: Sequence[IndexedFile],
    wanted: Sequence[IndexedFile],
    before: Int8Rows,
    documents: TextEncoding,
) -> Int8Rows:
    """Return the embeddings of the files: known ones, and computed ones of the others."""
    moved = moves(files, wanted)
    known = {(each.path, each.hash) for each in files}
    others = [each for each in wanted if (each.path, each.hash) not in known]
    place = np.ones(sum(each.passages for each in wanted), bool)
    place[moved[moved >= 0]] = False  # where a new one goes
    done, total = 0, int(place.sum())
    codes, scales = [before.codes[:0]], [before.scales[:0]]
    if total > MANY:
        announce(f"encoding {total:,} passages with {documents.meta()['model']}")

    def work(some: list[bytes]) -> tuple[NDArray[np.int8], Vectors]:
        records = [
            {"id": record["id"], "text": document_text(record)}
            for each in some
            for record in records_in(each)
        ]
        vectors = np.concatenate([vectors for _, vectors in documents.embedded(records)])
        codes, scales = quantize(vectors, "int8")
        assert scales is not None  # only signs have none
        return codes, scales

    from structkit.records.workers import Pool  # an answer from the cache needs no processes

    workers = cores() if documents.forks and total > MANY else 1
    tasks = _some_files(store, others)
    with progress("encode", lambda: Position(done, done, total)):
        for made in Pool(workers, work).results(tasks) if workers > 1 else map(work, tasks):
            codes.append(made[0])
            scales.append(made[1])
            done += len(made[1])
    if total:
        codes[0] = codes[0].reshape(0, codes[-1].shape[1])
    return Int8Rows(
        _merged(before.codes, np.concatenate(codes), moved, place),
        _merged(before.scales, np.concatenate(scales), moved, place),
    )


def _some_files(store: Store, files: Sequence[IndexedFile]) -> Iterator[list[bytes]]:
    """Yield the compressed records of some files at a time, with `MANY` passages or a few more."""
    some, passages = list[bytes](), 0
    for each in files:
        some.append(store.compressed(each.path))
        passages += each.passages
        if passages >= MANY:
            yield some
            some, passages = [], 0
    if some:
        yield some


def _merged(
    before: NDArray[Any], added: NDArray[Any], moved: Numbers, place: NDArray[np.bool_]
) -> NDArray[Any]:
    """Return earlier rows at their new places, and added rows at theirs."""
    whole = np.empty((len(place), *added.shape[1:]), added.dtype)
    whole[moved[moved >= 0]] = before[moved >= 0]
    whole[place] = added
    return whole
