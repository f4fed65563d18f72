"""Embeddings of passages, of which only new ones are computed, and when a match is no chance."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from structkit.asking.cache import (
    ROWS,
    IndexedFile,
    Segment,
    SegmentForm,
    Segments,
    Store,
    count_passages,
    indexed_files,
)
from structkit.asking.folder import EmbedPassages, Folder, passage_text
from structkit.embeddings.vectors import (
    Floats,
    Int8Rows,
    TextEncoding,
    Vectors,
    normalize_rows,
    quantize,
)
from structkit.processes import group_by_size
from structkit.progress import Position, progress, waiting
from structkit.records.fields import document_text
from structkit.records.jsonl import Record
from structkit.reproducibility import random_for
from structkit.searching.hits import Hit
from structkit.searching.index import maxsim
from structkit.searching.words import split_words
from structkit.structure.bags import Bags

ROWS_AND_CHANCE = "embedded"  # in a store's memory
CHANCE_PARTS = ("model", "moments", "best")  # the parts with the model and with chance
# 98 % of 257 questions about 13 repositories find a passage beyond chance, with the bundled vectors
# and with MiniLM; so do 2 % of other nonsense, and 10 and 6 % of everyday questions. Without
# standard scores, it would be 92 % with the bundled vectors: some passages are near to every rare
# word. Measured by `python -m experiments.chance`
NONSENSE_QUESTIONS = 256
CHANCE_QUANTILE = 0.99  # of the scores of their best passages
MIN_DEVIATION = 1e-6
ROWS_IN_CACHE = 1024  # whose floats fit into the processor's cache
MAX_COMPARED_PASSAGES = 30  # by maxsim: to encode one takes MiniLM 0.2 s on an EPYC
PASSAGES_PER_BATCH = 1000  # that are encoded together


@dataclass(frozen=True)
class Chance:
    """Similarity of passages to meaningless questions: words of random letters.

    The standard score of a passage is its similarity above its mean for these questions, divided by
    its deviation.
    """

    moments: Floats  # (passages, 2): mean and deviation over the questions
    best: Floats  # (questions,): the highest standard score of a passage

    @classmethod
    def of(cls, rows: Int8Rows, questions: Vectors) -> Self:
        """Return chance with these rows; `questions` (questions, dimensions) are of length 1."""
        moments, best = np.empty((len(rows), 2)), np.full(len(questions), -np.inf)
        for first in range(0, len(rows), ROWS_IN_CACHE):
            scores = rows[first : first + ROWS_IN_CACHE] @ questions.T  # (rows, questions)
            means = scores.mean(axis=1, keepdims=True)
            scores -= means
            deviations = np.sqrt(np.einsum("rq,rq->r", scores, scores) / len(questions))
            moments[first : first + ROWS_IN_CACHE] = np.column_stack((means, deviations))
            scores *= inverse(deviations[:, None])
            np.maximum(best, scores.max(axis=0), out=best)
        return cls(moments, best)

    @property
    def threshold(self) -> float:
        """The standard score that an answer exceeds, and 1 % of these questions."""
        # `np.quantile` imports numpy.ma, which no answer needs
        ordered = np.sort(self.best)
        return float(
            np.interp(CHANCE_QUANTILE * (len(ordered) - 1), np.arange(len(ordered)), ordered)
        )

    def exceeds(self, scores: Floats, *, known: bool = True) -> NDArray[np.bool_]:
        """Return which passages are closer to a question of length 1 than chance, (passages,).

        If the model knows none of its words, the question may be nonsense itself.
        """
        threshold = self.threshold if known else self.best.max()
        return (scores - self.moments[:, 0]) * inverse(self.moments[:, 1]) > threshold


def inverse(deviations: Floats) -> Floats:
    """Return the inverse of each deviation, or 0 for a deviation near 0, as of an empty passage."""
    return np.divide(1.0, deviations, np.zeros_like(deviations), where=deviations > MIN_DEVIATION)


def nonsense(count: int) -> list[str]:
    """Return questions of one to six words of random letters, always the same.

    >>> nonsense(2)
    ['fktaxswem pojlg buk xjj madhbfyi spwtxlcv', 'naiohse ncrjhwcvr mntbskhd ypfpk']
    """
    random = random_for(0, "nonsense")

    def word() -> str:
        return "".join(random.choices(string.ascii_lowercase, k=random.randint(3, 9)))

    return [" ".join(word() for _ in range(random.randint(1, 6))) for _ in range(count)]


def _pack_rows(rows: Int8Rows) -> dict[str, bytes]:
    return {"codes": rows.codes.tobytes(), "scales": rows.scales.tobytes()}


def _unpack_rows(parts: Mapping[str, bytes]) -> Int8Rows:
    scales = np.frombuffer(parts["scales"], np.float32)
    codes = np.frombuffer(parts["codes"], np.int8)
    return Int8Rows(codes.reshape(len(scales), codes.size // max(1, len(scales))), scales)


ROW_SEGMENTS = SegmentForm(
    "rows ",
    ("codes", "scales"),
    Int8Rows(np.empty((0, 1), np.int8), np.empty(0, np.float32)),
    _pack_rows,
    _unpack_rows,
    Int8Rows.merge,
)


class EncodedFolder:
    """A folder, and a model that encodes passages and questions; it is opened on first use."""

    def __init__(self, folder: Folder, encoding: Callable[[str], TextEncoding]) -> None:
        self._folder, self._encoding = folder, encoding

    @cached_property
    def _queries(self) -> TextEncoding:
        return self._encoding("query")

    @property
    def model(self) -> str:
        """The hash of the model."""
        return str(self._queries.meta()["model_sha256"])


class Meaning(EncodedFolder):
    """The embeddings of a folder's passages, and the model that encodes questions.

    Each is made when it is first used: a report is searched by words alone.
    """

    maxsim: MaxsimScorer | None = None  # by another model, for the best passages

    @cached_property
    def _rows_and_chance(self) -> tuple[Int8Rows, Chance]:
        """The rows of the folder's passages, kept ones and new ones, and chance with them."""
        memory, files = self._folder.store.memory, self._folder.files
        model = self.model.encode()
        kept: tuple[bytes, Any, tuple[Int8Rows, Chance]] | None = memory.get(ROWS_AND_CHANCE)
        if kept and kept[:2] == (model, files):
            return kept[2]
        made = self._read_or_embed(model)
        memory[ROWS_AND_CHANCE] = model, files, made
        return made

    def _read_or_embed(self, model: bytes) -> tuple[Int8Rows, Chance]:
        """Return the stored rows and chance; if files changed, embed new ones, and store all."""
        store, wanted = self._folder.store, self._folder.files
        kept, before = store.parts(CHANCE_PARTS), Segments(ROW_SEGMENTS)
        if kept and kept["model"] == model:
            before = Segments.read(store, ROW_SEGMENTS)
            if before.files == wanted:
                moments = np.frombuffer(kept["moments"]).reshape(len(self._folder), 2)
                chance = Chance(moments, np.frombuffer(kept["best"]))
                return Int8Rows.merge(before.numbered), chance
        known = {*before.files}
        new = [each for each in wanted if each not in known]
        after = before.update(wanted, *_embed(store, new, self._encoding("document")))
        rows = Int8Rows.merge(after.numbered)
        questions = ({"id": text, "text": text} for text in nonsense(NONSENSE_QUESTIONS))
        vectors = np.concatenate([batch for _, batch in self._queries.embedded(questions)])
        chance = Chance.of(rows, normalize_rows(vectors))
        parts = (model, chance.moments.tobytes(), chance.best.tobytes())
        with store.changing():
            store.put_parts(dict(zip(CHANCE_PARTS, parts, strict=True)))
            after.write(store, before)
        return rows, chance

    def scores(self, question: str) -> tuple[Floats, NDArray[np.bool_]]:
        """Return each passage's inner product with a question, and whether it beats chance.

        Both (passages,).
        """
        _, vectors = next(self._queries.embedded([{"id": "1", "text": question}]))
        scores = self._products(vectors[0])
        length = max(float(np.linalg.norm(vectors[0])), MIN_DEVIATION)
        empty_size, *sizes = self._queries.sizes(["", *split_words(question)])
        known = empty_size + 1 in sizes  # a word is one token
        return scores, self._rows_and_chance[1].exceeds(scores / length, known=known)

    @property
    def embed(self) -> Callable[[Sequence[str]], Floats] | None:
        """Function from lines to unit embeddings; None for a slow model."""
        if not self._queries.is_static:
            return None
        return lambda texts: normalize_rows(self._queries.of_bags(texts, Bags.of(texts)))

    def similar(self, passage: int) -> Floats:
        """Return the inner product of each passage with one of them, (passages,)."""
        vectors, _ = self._rows_and_chance
        return self._products(vectors[passage : passage + 1][0])

    def _products(self, vector: Vectors) -> Vectors:
        rows, _ = self._rows_and_chance
        products = np.empty(len(rows), np.float32)
        for first in range(0, len(rows), ROWS_IN_CACHE):
            block = slice(first, first + ROWS_IN_CACHE)
            products[block] = rows.codes[block].astype(np.float32) @ vector
        return products * rows.scales


class MaxsimScorer(EncodedFolder):
    """Scores of passages by maxsim, with a model of token embeddings (rows).

    They take much room and time: only those of the best passages are made, and then kept.
    """

    def scores(
        self, text: str, hits: Sequence[Hit], records: Mapping[int, Record], side: str = "query"
    ) -> NDArray[np.float64]:
        """Return maxsim of a text with the passages of the best hits, (passages,), others 0."""
        best = {hit.doc_id for hit in hits[:MAX_COMPARED_PASSAGES]}
        texts = {n: document_text(record) for n, record in records.items() if record["id"] in best}
        _, rows = next(self._encoding(side).embedded([{"id": "1", "text": text}]))
        scores = np.zeros(len(self._folder))
        for passage, data in self._rows_of(texts).items():
            own = np.frombuffer(data, np.float16).reshape(-1, rows.shape[1])
            scores[passage] = maxsim(rows, own)
        return scores

    def _rows_of(self, texts: Mapping[int, str]) -> dict[int, bytes]:
        """Return the rows of passages by their texts as 16-bit floats, kept ones and new ones."""
        names = {
            passage: sha256(f"{self.model} {text}".encode(errors="replace")).hexdigest()
            for passage, text in texts.items()
        }
        store = self._folder.store
        text_of = {names[passage]: text for passage, text in texts.items()}
        kept = {name: data for name in text_of if (data := store.part(name, ROWS))}
        new = [{"id": name, "text": text} for name, text in text_of.items() if name not in kept]
        with waiting(f"encoding {len(new)} passages"):
            for rows, vectors in self._encoding("document").embedded(new):
                owners = np.array([row.document for row in rows])
                halves = vectors.astype(np.float16)
                made = {name: halves[owners == name].tobytes() for name in {*owners.tolist()}}
                store.put_rows(made)
                kept |= made
        return {passage: kept[name] for passage, name in names.items()}


def passage_embedder(encoding: Callable[[str], TextEncoding]) -> EmbedPassages | None:
    """Return the function that embeds passages as they are read; None for a slow model."""
    documents = encoding("document")
    if not documents.is_static:
        return None
    return lambda texts, bags: _int8_rows(documents.of_bags(texts, bags))


def _int8_rows(vectors: Vectors) -> Int8Rows:
    codes, scales = quantize(vectors, "int8")
    assert scales is not None  # only signs have none
    return Int8Rows(codes, scales)


def _embed(
    store: Store, files: Iterable[IndexedFile], documents: TextEncoding
) -> list[Segment[Int8Rows]]:
    """Return the rows of the files' passages; a fast model made some as the files were read."""
    segments, done = [*store.new_rows], 0
    read = indexed_files(segments)
    new = [file for file in files if file not in read]
    total = count_passages(new)
    fast = passage_embedder(lambda _: documents)
    with progress("encode", lambda: Position(done, done, total, noun="passages")):
        for batch in group_by_size(new, (lambda file: file.passages, PASSAGES_PER_BATCH)):
            records = [record for file in batch for record in store.records(file)]
            texts = [passage_text(record) for record in records]
            if fast:
                rows = fast(texts, Bags.of(texts))
            else:
                pairs = zip(records, texts, strict=True)
                named = [{"id": record["id"], "text": text} for record, text in pairs]
                rows = _int8_rows(np.concatenate([part for _, part in documents.embedded(named)]))
            segments.append(Segment(batch, rows))
            done += len(rows)
    return segments
