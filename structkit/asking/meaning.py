"""The embeddings of passages by a model, of which only new ones are computed, and chance."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from structkit.asking.folder import Folder, IndexedFile, data_of, indexed_files, moves
from structkit.embeddings.vectors import BLOCK, Floats, TextEncoding, Vectors, unit
from structkit.processes import cores
from structkit.progress import Position, announce, progress
from structkit.records.fields import document_text
from structkit.records.jsonl import Record
from structkit.records.workers import Pool
from structkit.seeds import random_for

NAMES = ("model", "embedded", "vectors", "chance")
# of 257 questions about 13 repositories, 98 % find a passage beyond chance, with the shipped table
# and with MiniLM; of other nonsense 1 and 2 %, of everyday questions 19 and 6 %. By the scores
# alone it would be 54 % with the table: some passages have something of every rare word.
# Measured by `python -m tests.benchmarks.chance`
NONSENSE = 256  # questions of random letters
QUANTILE = 0.99  # of their best passages
TINY = 1e-6
MANY = 1000  # passages that may take a second to encode, and that are encoded together


@dataclass(frozen=True)
class Chance:
    """How close passages come to questions that mean nothing: words of random letters.

    The standard score of a passage is how far it is above its own mean over them, in its own
    deviations. `least` is what the best passage of 99 in 100 of them does not exceed.
    """

    means: Floats  # (passages,)
    deviations: Floats  # (passages,)
    least: float

    @classmethod
    def of(cls, vectors: Vectors, queries: TextEncoding) -> Self:
        """Chance with these passages (passages, dimensions), and this encoding of questions."""
        records = ({"id": question, "text": question} for question in nonsense(NONSENSE))
        asked = unit(np.concatenate([rows for _, rows in queries.embedded(records)]))
        means, deviations = np.empty(len(vectors)), np.empty(len(vectors))
        best = np.full(len(asked), -np.inf)
        for first in range(0, len(vectors), BLOCK):
            here = slice(first, first + BLOCK)
            scores = np.asarray(vectors[here] @ asked.T, np.float64)  # (rows, questions)
            means[here], deviations[here] = scores.mean(axis=1), scores.std(axis=1)
            standard = _standard(scores, means[here, None], deviations[here, None])
            best = np.maximum(best, standard.max(axis=0))
        return cls(means, deviations, float(np.quantile(best, QUANTILE)))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """What `data` gives."""
        *rows, least = np.frombuffer(data, np.float64)
        means, deviations = np.reshape(rows, (2, -1))
        return cls(means, deviations, float(least))

    def data(self) -> bytes:
        return np.concatenate((self.means, self.deviations, [self.least])).tobytes()

    def exceeds(self, scores: Floats) -> NDArray[np.bool_]:
        """Which passages come closer to a question of length 1 than chance, (passages,)."""
        return _standard(scores, self.means, self.deviations) > self.least


def _standard(scores: Floats, means: Floats, deviations: Floats) -> Floats:
    """Standard scores; 0 where all scores are the same, as those of an empty passage."""
    above = scores - means
    return np.divide(above, deviations, np.zeros_like(above), where=deviations > TINY)


def nonsense(count: int) -> list[str]:
    """Questions of one to six words of random letters, always the same.

    >>> nonsense(2)
    ['fktaxswem pojlg buk xjj madhbfyi spwtxlcv', 'naiohse ncrjhwcvr mntbskhd ypfpk']
    """
    random = random_for(0, "nonsense")

    def word() -> str:
        return "".join(random.choices(string.ascii_lowercase, k=random.randint(3, 9)))

    return [" ".join(word() for _ in range(random.randint(1, 6))) for _ in range(count)]


class Meaning:
    """The embeddings of a folder's passages, and the model that encodes questions."""

    def __init__(self, folder: Folder, encoding: Callable[[str], TextEncoding]) -> None:
        self._queries = encoding("query")
        meta = self._queries.meta()
        model = str(meta["model_sha256"]).encode()
        kept = folder.store.parts(NAMES)
        files: list[IndexedFile] = []
        self.vectors, chance = np.empty((0, 1), np.float32), b""  # (passages, dimensions)
        if kept and kept["model"] == model:
            files, chance = indexed_files(kept["embedded"]), kept["chance"]
            rows = sum(each.passages for each in files)
            self.vectors = np.frombuffer(kept["vectors"], np.float32).reshape(rows, -1)
        if files != folder.files:
            self.vectors = _embed(folder, files, self.vectors, encoding("document"), meta["model"])
            chance = Chance.of(self.vectors, self._queries).data()
            data = (model, data_of(folder.files), self.vectors.tobytes(), chance)
            with folder.store.changing():
                folder.store.put_parts(dict(zip(NAMES, data, strict=True)))
        self.chance = Chance.read(chance)

    def scores(self, question: str) -> tuple[Floats, NDArray[np.bool_]]:
        """The inner product of each passage with a question, and whether it is beyond chance.

        Both (passages,).
        """
        _, vectors = next(self._queries.embedded([{"id": "1", "text": question}]))
        scores: Floats = self.vectors @ vectors[0]
        length = max(float(np.linalg.norm(vectors[0])), TINY)
        return scores, self.chance.exceeds(scores / length)


def _embed(
    folder: Folder, files: list[IndexedFile], before: Vectors, documents: TextEncoding, name: str
) -> Vectors:
    """The embeddings of all passages: known ones, and computed ones of the other files."""
    moved = moves(files, folder.files)
    known = {(each.path, each.hash) for each in files}
    others = [each.path for each in folder.files if (each.path, each.hash) not in known]
    place = np.ones(len(folder), bool)
    place[moved[moved >= 0]] = False  # where a new one goes
    new, done, total = [], 0, int(place.sum())
    if total > MANY:
        announce(f"encoding {total:,} passages with {name}")
    records = (
        {"id": record["id"], "text": document_text(record)}
        for path in others
        for record in folder.store.records(path)
    )

    def work(some: list[Record]) -> Vectors:
        return np.concatenate([vectors for _, vectors in documents.embedded(some)])

    workers = cores() if documents.forks and total > MANY else 1
    tasks = iter(lambda: list(islice(records, MANY)), [])
    with progress("encode", lambda: Position(done, done, total)):
        for vectors in Pool(workers, work).results(tasks) if workers > 1 else map(work, tasks):
            new.append(vectors)
            done += len(vectors)
    added = np.concatenate(new) if new else before[:0]
    whole = np.empty((len(folder), (added if new else before).shape[1]), np.float32)
    whole[moved[moved >= 0]] = before[moved >= 0]
    whole[place] = added
    return whole
